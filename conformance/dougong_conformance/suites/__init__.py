"""The suites. Each module of this folder has ``LEVEL`` and ``cases(context)``; being here is all the registration."""
