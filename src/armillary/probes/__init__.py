"""Questions asked of a model beside a finished run."""
