"""Experiments: failed runs of a durable agent rewound, beside starting over, and the receipt."""
