/// The style of the gateway's own pages: calm, by day and by night, on a phone and on paper.
enum Stylesheet {
  static let asset = Asset(Array(text.utf8), type: "text/css; charset=utf-8")

  private static let text = """
    :root {
      --ink: #1d2327; --quiet: #5b6770; --paper: #fdfdfc; --line: #dfe3e6; --shade: #f1f3f4; --link: #0b5f8a;
      --get: #0b6b4f; --post: #8a4b00; --change: #5a3fa0; --delete: #a3262a;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ink: #e4e7e9; --quiet: #9aa6ae; --paper: #15191c; --line: #2c3338; --shade: #1d2327; --link: #7cc4ee;
        --get: #5cc9a3; --post: #e5a95c; --change: #b7a3f0; --delete: #f08d8d;
      }
    }
    * { box-sizing: border-box; }
    html { scroll-padding-top: 1rem; }
    body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif; }
    main { max-width: 58rem; margin: 0 auto; padding: 2rem 1rem 6rem; }
    h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .25rem; }
    h2 { margin: 3rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
    h3 { font-size: .95rem; margin: 1.25rem 0 .25rem; color: var(--quiet); }
    p { margin: .5rem 0; max-width: 44rem; }
    a { color: var(--link); }
    a:focus-visible, summary:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
    code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
    pre { white-space: pre-wrap; padding: .75rem; background: var(--shade); border-radius: .4rem; margin: .5rem 0; }
    pre, td code { overflow-wrap: anywhere; }
    button { font: inherit; padding: .3rem .9rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--shade); color: var(--link); }
    button:disabled { color: var(--quiet); }
    .output { position: sticky; top: 0; display: flex; gap: .5rem; align-items: start; background: var(--paper); padding: .25rem 0; }
    .output pre { flex: 1; min-height: 3.4rem; max-height: 30vh; overflow: auto; margin: 0; }
    nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: 0; list-style: none; }
    .quiet { color: var(--quiet); }
    .status { font-variant-numeric: tabular-nums; font-weight: 600; }
    details { border-bottom: 1px solid var(--line); }
    details[open] { padding-bottom: 1rem; }
    details:target > summary { background: var(--shade); }
    summary { cursor: pointer; padding: .55rem .25rem; overflow-wrap: anywhere; }
    summary b { display: inline-block; min-width: 4.2rem; font-size: .8rem; letter-spacing: .03em; }
    summary span { color: var(--quiet); }
    .get { color: var(--get); } .post { color: var(--post); } .delete { color: var(--delete); }
    .put, .patch { color: var(--change); }
    table { width: 100%; border-collapse: collapse; }
    th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; font-weight: normal; }
    tr + tr > * { border-top: 1px solid var(--line); }
    td p { margin: 0; }
    dl { display: grid; grid-template-columns: 5rem 1fr; gap: .25rem .5rem; margin: .5rem 0; }
    dd { margin: 0; min-width: 0; }
    dd p:first-child { margin-top: 0; }
    @media (max-width: 34rem) {
      dl { grid-template-columns: 1fr; }
      th, td { display: block; padding: .1rem 0; }
      tr { display: block; padding: .4rem 0; }
      tr + tr > * { border-top: 0; }
      tr + tr { border-top: 1px solid var(--line); }
    }
    @media print { summary { break-after: avoid; } nav { display: none; } }

    """
}
