/// Whether a loop that has nothing to do stays awake for what other threads have for it.
///
/// To sleep and be woken takes longer than some answers do. Where the last of them came as fast, the loop looks out for the
/// next one as long; once that is in vain it sleeps again, until as many have.
struct Vigil {
  /// More than a thread takes to be woken and to answer, less than anybody would notice.
  static let nanosecondsMax: UInt64 = 30_000
  private static let quickAnswersMin = 4

  private var quickAnswers = 0

  var isWorthwhile: Bool { quickAnswers >= Self.quickAnswersMin }

  /// Another thread had something, so long after there was nothing left to do.
  mutating func answered(after pause: UInt64) {
    quickAnswers = pause < Self.nanosecondsMax ? quickAnswers + 1 : 0
  }

  mutating func wasInVain() { quickAnswers = 0 }
}
