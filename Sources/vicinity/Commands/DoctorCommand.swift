/// Finds out why peers do not see each other.
enum DoctorCommand {
  static func run(_ context: Context) async throws -> ExitCode { .done }
}
