// The libraries in the gateway, and the SPDX names of their licences.

export const licences = [
  ['Avahi', 'LGPL-2.1-or-later'],
  ['D-Bus', 'AFL-2.1 OR GPL-2.0-or-later'],
  ['libmicrohttpd', 'LGPL-2.1-or-later'],
  ['libqrencode', 'LGPL-2.1-or-later'],
  ['OpenSSL', 'Apache-2.0'],
  ['SQLite', 'blessing'],
  ['Swift', 'Apache-2.0 WITH Swift-exception'],
  ['zlib', 'Zlib'],
]
