/// The entry to the simulator: runs by seed and scenario.
public enum Simulation {
  public static func plan(_ scenario: Scenario, seed: UInt64) -> Plan { Planner.draw(scenario, seed: seed) }

  public static func run(_ plan: Plan, recording: Bool = false) -> Outcome {
    World(plan, recording: recording).run()
  }

  public static func run(_ scenario: Scenario, seed: UInt64, recording: Bool = false) -> Outcome {
    run(plan(scenario, seed: seed), recording: recording)
  }
}
