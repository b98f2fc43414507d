import { useMemo } from 'react'
import type { Agent, Platform } from '../lib/api'
import { apart, type Apart } from '../lib/diff'
import { size } from '../lib/format'
import { Marked, Shown } from '../lib/show'
import { Card, Copy } from '../ui/kit'
import { t } from '../texts'

const x = t.findings.compared
type Exchange = { request?: string; response?: string }
type Comparison = { of?: string; note?: string; first: Exchange; second: Exchange }

/** What the answers of a finding, and of each look of its issue, were compared with; each once. */
export function comparisonsOf(f: Platform['ScanVulnerability'], issue: Agent['Issue'] | undefined): Comparison[] {
  const all: Comparison[] = [
    ...(f.event?.compared ?? []).map((c) => ({ note: c.note, first: f.event, second: c })),
    ...(issue?.evidence ?? []).flatMap((e) => (e.compared ?? []).map((c) => ({ of: e.kind, note: c.note, first: e, second: c }))),
  ]
  return [...new Map(all.map((c) => [`${c.second.request}\n${c.second.response}`, c])).values()]
}

/** Requests side by side with those that they were compared with, and the answers of both; what differs is marked. */
export function Comparisons({ of }: { of: Comparison[] }) {
  return of.map((c, i) => (
    <Card key={i} title={<>{x.title}{c.note && <>: <Shown text={c.note} max={300} /></>}{c.of && <span className="font-normal text-muted"> · {x.of[c.of] ?? <Shown text={c.of} max={40} />}</span>}</>}>
      <p className="mb-3 text-sm text-muted">{x.text}</p>
      <Pair name={t.findings.request} nothing={x.noRequest} first={c.first.request} second={c.second.request} />
      <Pair name={t.findings.response} nothing={x.nothing} first={c.first.response} second={c.second.response} />
    </Card>
  ))
}

const most = 64 << 10 // characters of a text that are shown

function Pair({ name, nothing, first = '', second = '' }: { name: string; nothing: string; first?: string; second?: string }) {
  // What was cut when it was stored ends so; its end is not compared with what goes on in the other one.
  const clipped = second.endsWith('…') && first.length > second.length
  const until = Math.min(most, clipped ? second.length - 1 : most)
  const [a, b] = [first.slice(0, until), second.slice(0, until)]
  const cut = a.length < first.length || b.length < second.length
  const found = useMemo(() => apart(a, b), [a, b])
  return (
    <div className="mb-3 last:mb-0">
      <div className="grid gap-x-4 gap-y-3 lg:grid-cols-2">
        <Side title={`${x.first}: ${name}`} text={first} pieces={found.first} nothing={nothing} />
        <Side title={`${x.second}: ${name}`} text={second} pieces={found.second} nothing={nothing} note={said(found)} />
      </div>
      {cut && <p className="mt-1 text-xs text-muted">{x.cut}</p>}
    </div>
  )
}

const said = (found: Apart) => (found.too ? x.too : x.lines(found.lines))

function Side({ title, text, pieces, nothing, note }: { title: string; text: string; pieces: Apart['first']; nothing: string; note?: string }) {
  return (
    <div className="min-w-0">
      <div className="mb-1 flex flex-wrap items-baseline gap-x-2">
        <h3 className="text-xs font-semibold">{title}</h3>
        {text && <span className="text-xs text-muted">{size(text.length)}</span>}
        {note && <span className="text-xs text-medium">{note}</span>}
        {text && <span className="ml-auto"><Copy text={text} /></span>}
      </div>
      {text ? <Marked pieces={pieces} label={title} /> : <p className="text-sm text-muted">{nothing}</p>}
    </div>
  )
}
