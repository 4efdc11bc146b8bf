import Simulator

/// The options of the command line.
struct Options {
  enum Task: Equatable {
    case seeds(UInt64)
    case replay(UInt64)
    case canary
    case demonstration
    case scenarios
    case help
    /// A share of seeds, with a line of output for each to the parent process.
    case work(UInt64)
  }

  var task = Task.seeds(100)
  var scenario: Scenario?
  var from: UInt64 = 1
  var jobs = 2
  var shrinks = false
  /// An engine rule that a replay switches off.
  var canary: Canary?
  /// For the canary: how many seeds of each scenario a switch may take.
  var seedsMax: UInt64 = 60

  /// A sentence with the mistake and its remedy.
  struct Mistake: Error { var sentence: String }

  init(_ arguments: some Collection<String>) throws(Mistake) {
    var tasks: [Task] = []
    var seeds: UInt64?
    var rest = Array(arguments)
    func value(_ option: String, _ what: String) throws(Mistake) -> String {
      guard !rest.isEmpty, !rest[0].hasPrefix("--") else {
        throw Mistake(sentence: "\(option) needs \(what) after it.")
      }
      return rest.removeFirst()
    }
    func number(_ option: String) throws(Mistake) -> UInt64 {
      let text = try value(option, "a number")
      guard let number = UInt64(text) else {
        throw Mistake(sentence: "\(option) needs a whole number, and '\(text)' is none.")
      }
      return number
    }
    while !rest.isEmpty {
      let option = rest.removeFirst()
      switch option {
      case "--seeds": seeds = try number(option)
      case "--seed": tasks.append(.replay(try number(option)))
      case "--from": from = try number(option)
      case "--jobs":
        let jobs = try number(option)
        guard (1...64).contains(jobs) else { throw Mistake(sentence: "--jobs takes 1 to 64 processes, not \(jobs).") }
        self.jobs = Int(jobs)
      case "--scenario":
        let name = try value(option, "the name of a scenario")
        guard let scenario = Scenario(rawValue: name) else {
          throw Mistake(sentence: "There is no scenario '\(name)'; --scenarios lists those there are.")
        }
        self.scenario = scenario
      case "--shrink": shrinks = true
      case "--switch":
        let name = try value(option, "the name of a switch")
        guard let canary = Canary.allCases.first(where: { $0.name == name }) else {
          throw Mistake(sentence: "There is no switch '\(name)'; --canary lists those there are.")
        }
        self.canary = canary
      case "--canary": tasks.append(.canary)
      case "--demo": tasks.append(.demonstration)
      case "--scenarios": tasks.append(.scenarios)
      case "--work": tasks.append(.work(try number(option)))
      case "--help", "-h": tasks.append(.help)
      default: throw Mistake(sentence: "There is no option '\(option)'; --help lists those there are.")
      }
    }
    if tasks.contains(.help) { tasks = [.help] }
    guard tasks.count <= 1 else {
      throw Mistake(sentence: "Only one of --seed, --canary, --demo and --scenarios at a time.")
    }
    switch tasks.first {
    case .canary:
      task = .canary
      seedsMax = seeds ?? seedsMax
    case .some(let only):
      guard seeds == nil || only == .help else { throw Mistake(sentence: "--seeds goes with --canary, or alone.") }
      task = only
    case nil:
      if let seeds { task = .seeds(seeds) } else if scenario == nil { task = .help } else { task = .replay(from) }
    }
  }

  static let help = """
    simulate: hosts of Vicinity in a virtual world, with faults from a seed and a model that watches.

    Every run follows from its seed: the same seed and the same commit give the same run, anywhere.

      simulate --seeds 2000              run seeds 1 to 2000, each in the scenario that it falls in
      simulate --seeds 100 --scenario pair --from 500
                                         run seeds 500 to 599 of one scenario
      simulate --seed 42                 replay one seed, with its transcript
      simulate --seed 42 --shrink        the same, made as small as it still fails
      simulate --scenario merge          one run of a scenario, with its transcript
      simulate --canary                  switch engine rules off one by one: each must be caught
      simulate --demo                    a calm story to read: three hosts, a chat, a cut cable
      simulate --scenarios               what there is to choose from

      --switch NAME  replay with one engine rule switched off, as --canary does
      --jobs N       processes that share the seeds (2)
      --from N       the first seed (1)

    Exit code 0: all is well. 1: a rule was broken. 2: the command line is not understood.
    What the rules are, and what is simulated: docs/simulation.md.
    """
}
