// libmicrohttpd, with a function for each call that takes a list of arguments of any length.
// SwiftPM does not rebuild when this file changes: touch a Swift file that imports it.
#pragma once

#include <microhttpd.h>
