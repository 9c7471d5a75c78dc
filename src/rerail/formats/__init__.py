"""What other programs recorded: their files, read strictly, as stories with honest gaps."""
