"""`python -m rerail.cli`: the same command line without the installed script."""

from rerail.cli.main import main

if __name__ == "__main__":
    main()
