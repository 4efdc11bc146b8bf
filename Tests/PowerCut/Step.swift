/// An operation of SQLite on the files of a folder. A file has a number, since another may take its name.
enum Step: Sendable {
  case made(file: Int, name: String)
  case wrote(file: Int, bytes: [UInt8], offset: Int)
  case resized(file: Int, size: Int)
  case synced(file: Int)
  case removed(name: String)
  /// Which names there are lasts from here on.
  case syncedFolder
}
