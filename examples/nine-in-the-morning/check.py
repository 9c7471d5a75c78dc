"""What the shop wants of its settings: one rate of VAT everywhere."""

import sys
from pathlib import Path

wrong = [path.name for path in sorted(Path("shop").glob("*.ini")) if "21" not in path.read_text()]
for name in wrong:
    print(f"{name}: the VAT is not 21")
print(f"{len(wrong)} error{'s' if len(wrong) != 1 else ''}")
sys.exit(bool(wrong))
