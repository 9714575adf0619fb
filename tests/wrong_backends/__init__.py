"""Miniature backends that are wrong on purpose, and one that is right: what the harness itself is tested with.

Each is named as any backend is, `wrong_backends:PadsSwapped`. They speak ONNX and compute with the reference, so each
verdict is the effect of the one fault.
"""

# A backend is named by the package, not by its module.
from wrong_backends.disturbances import *  # noqa: F403
from wrong_backends.ends import *  # noqa: F403
from wrong_backends.misread import *  # noqa: F403
from wrong_backends.outcomes import *  # noqa: F403
from wrong_backends.right import *  # noqa: F403
from wrong_backends.rounding import *  # noqa: F403
from wrong_backends.seeded import *  # noqa: F403
from wrong_backends.seen_bugs import *  # noqa: F403
from wrong_backends.varying import *  # noqa: F403
