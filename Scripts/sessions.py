"""Runs commands for other scripts, each in a session of its own, and leaves no process of it behind."""

import os
import signal
import subprocess


def run(command, limit, **options):
    """Returns the exit code and the output of a command. The code is `None` if it does not end within the limit."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, **options)
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        end(process)
        return None, process.communicate()[0]
    finally:
        # Ctrl-C does not reach another session.
        end(process)


def end(process):
    """Kills all processes of the session that `process` leads."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                session = int(stat.read().rpartition(")")[2].split()[3])
            if session == process.pid:
                os.kill(int(name), signal.SIGKILL)
        except (OSError, ValueError):
            pass
