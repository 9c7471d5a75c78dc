"""Durable scripts: agent loops that are saved whole at every call of a tool."""

from rerail.script.durable import Saved as Saved
from rerail.script.durable import Script as Script
from rerail.script.limits import Limits as Limits
from rerail.script.pause import Answer as Answer
from rerail.script.pause import Pause as Pause
from rerail.script.run import Run as Run
from rerail.script.tools import Call as Call
from rerail.script.tools import repeatable as repeatable
