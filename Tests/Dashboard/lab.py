"""Hosts of the laboratory, each with its own network, D-Bus and Avahi."""

import os
import subprocess

from gateway import ROOT, START_SECONDS_MAX

RIG = os.environ.get("LAB_RIG", os.path.join(ROOT, ".build", "debug", "lab-rig"))


class Lab:
    def __init__(self, count):
        self.rig = subprocess.Popen([RIG, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hosts = []
        for line in self.rig.stdout:
            if line.startswith("Say here"):
                return
            if "nsenter" in line:
                self.hosts.append(line.split()[:-1])
        raise RuntimeError("the laboratory did not come up")

    def say(self, command):
        """Sends a command to the rig, such as `cut h1`."""
        self.rig.stdin.write(command + "\n")
        self.rig.stdin.flush()

    def close(self):
        self.rig.stdin.close()
        self.rig.wait(START_SECONDS_MAX)
        self.rig.stdout.close()
