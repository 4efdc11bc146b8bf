// The reference library of D-Bus, which the client library of the Avahi daemon needs, too.
#pragma once

#include <dbus/dbus.h>
