"""What this book needs beyond programs on its pages (programbook): its tables and pictures.

tables     lessons and calls (calls), from manifests (manifest) and recordings
clinic     the table of cases           hazards    the table of reports
recording  the driver notes             minutes    how long a page takes
domain     calls, attributes and errors as Sphinx knows them, with their roles
finder     one field over all of it     progress   what the checks have left behind
pictures   from a run's journal: memory_picture, order_picture, scaled_picture, case_picture;
           and drawings, where no journal can
stepper    a run, step by step (run_steps)
dial       the first screen
live       what runs in the reader's browser (simulated_device)
own_run    pictures and a trace (run_trace) of a reader's own run, without Sphinx
rungs      the reuse ladder
"""

PARTS = ("domain", "tables", "clinic", "progress", "pictures", "finder", "recording", "hazards")
PARTS += ("minutes", "live", "stepper", "dial")


def setup(app):
    for part in PARTS:
        app.setup_extension(f"{__name__}.{part}")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
