"""Every directive of the book. One that has kinds says by its first word which is meant, and the
file of the kind's class describes its arguments and options:

    .. run:: solutions/04_release_threshold     a program, and what it prints
    .. run:: $ make help                        a command, and what it prints
    .. picture:: memory solutions/06_trim       a picture of a run
"""

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from . import (
    clinic,
    days,
    dial,
    evidence,
    live,
    pictures,
    predict,
    programs,
    recording,
    sources,
    stepper,
    tables,
)


class WithKinds(SphinxDirective):
    """Gives what stands behind its first word to the class of that kind. "" is the kind that has no
    word of its own."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    kinds = {}

    def run(self):
        kind, *rest = self.arguments[0].split(None, 1)
        if kind not in self.kinds:
            kind, rest = "", self.arguments
        if kind not in self.kinds:
            names = ", ".join(self.kinds)
            raise self.error(f"{self.name}:: begins with one of {names}, not {self.arguments[0]}")
        directive = self.kinds[kind]
        words = f"{self.name}:: {kind}".rstrip()
        count = directive.required_arguments
        arguments = rest[0].split(None, count - 1) if rest and count else rest
        if len(arguments) != count:
            raise self.error(f"{words} has {count} arguments behind it, not {len(arguments)}")
        if self.content and not directive.has_content:
            raise self.error(f"{words} has no content")
        return directive(
            self.name,
            arguments,
            {name: self.value(directive, words, name) for name in self.options},
            self.content,
            self.lineno,
            self.content_offset,
            self.block_text,
            self.state,
            self.state_machine,
        ).run()

    def value(self, directive, words, name):
        """The option as the kind wants it."""
        known = directive.option_spec or {}
        if name not in known:
            raise self.error(f"{words} has no option {name}. It has: {', '.join(known) or 'none'}.")
        try:
            return known[name](self.options[name] or None)
        except (TypeError, ValueError) as why:
            raise self.error(f"{words}, option {name}: {why}") from why


def with_kinds(**kinds):
    """The directive of these kinds; "plain" is that without a word."""
    kinds = {"" if kind == "plain" else kind: directive for kind, directive in kinds.items()}
    options = {name for directive in kinds.values() for name in directive.option_spec or {}}
    known = {"kinds": kinds, "option_spec": dict.fromkeys(options, directives.unchanged)}
    return type("Kinds", (WithKinds,), known)


DIRECTIVES = {
    "run": with_kinds(
        plain=programs.ProgramRun, journal=programs.JournalRun, **{"$": programs.CommandRun}
    ),
    "source": with_kinds(
        plain=sources.ProgramSource,
        whole=sources.WholeProgram,
        lines=programs.Snippet,
        difference=programs.SolutionDifference,
        solution=programs.Solution,
    ),
    "literalinclude": programs.Excerpt,
    "picture": with_kinds(
        memory=pictures.MemoryPicture,
        order=pictures.OrderPicture,
        drawing=pictures.DrawnPicture,
        pair=pictures.PicturePair,
    ),
    "stepper": stepper.Stepper,
    "stage": stepper.StageAt,
    "predict": predict.Predict,
    "until-answered": predict.UntilAnswered,
    "evidence": evidence.Evidence,
    "documented": recording.Documented,
    "recorded": with_kinds(plain=recording.Recording, tables=programs.RecordedTables),
    "rows": tables.Rows,
    "collected": with_kinds(
        lessons=tables.LessonsTable,
        rules=tables.RulesOf,
        calls=tables.CallTable,
        index=tables.CallIndex,
        hazards=tables.HazardKinds,
        cases=clinic.ClinicTable,
        entries=tables.Entries,
        notes=recording.NotesSummary,
        answers=predict.PredictAnswers,
        **{"done-when": tables.DoneWhen},
    ),
    "clinic": with_kinds(
        case=clinic.ClinicCase,
        desk=clinic.ClinicDesk,
        report=clinic.ClinicReport,
        repair=clinic.ClinicRepair,
    ),
    "bench": with_kinds(
        pool=live.PoolBench, lesson=live.RunHere, days=days.Days, dial=dial.ThresholdDial
    ),
}
