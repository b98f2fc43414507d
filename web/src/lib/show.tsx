import { Fragment, useState, type ReactNode } from 'react'
import { t } from '../texts'
import type { Piece } from './diff'

// Text that came from a target, or from anybody else, is shown as what it is: characters that a screen would not show, or
// that would turn the order of others around, stand there as escapes; and there is an end to it.

// C0 and C1 controls but newline and tab, soft hyphen, Arabic letter mark, zero-width and bidirectional marks, separators,
// word joiners, variation selectors, tags and the byte order mark; and surrogates without a partner.
const hidden =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu

function escape(c: string): string {
  return c === '\r' ? '\\r' : `U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
}

/** A text with escapes for what would not be seen, where there can be no marks: in options and titles. */
export const plain = (text: string) => text.replace(hidden, escape)

// A text that consists of such characters would be as many elements, which slows the page; the rest is text.
const mostMarked = 500

/** The nodes of a text: as it is, with escapes for what would not be seen, and what matches marked. Texts of one place share a room. */
export function visible(text: string, marks: string[] = [], room = { left: mostMarked }): ReactNode[] {
  const out: ReactNode[] = []
  const plain = (part: string) => {
    let from = 0
    for (const m of part.matchAll(hidden)) {
      if (m.index > from) out.push(part.slice(from, m.index))
      if (m[0] !== '\r' || part[m.index + 1] !== '\n') {
        if (--room.left < 0) out.push(`‹${escape(m[0])}›`)
        else out.push(<span key={out.length} className="esc" title={t.show.hidden}>{escape(m[0])}</span>)
      }
      from = m.index + m[0].length
    }
    if (from < part.length) out.push(part.slice(from))
  }
  const wanted = marks.filter((m) => m.length > 1 && m.length < 4096).slice(0, 20)
  let from = 0
  for (let n = 0; wanted.length > 0 && n < 200; n++) {
    let at = -1
    let found = ''
    for (const w of wanted) {
      const i = text.indexOf(w, from)
      if (i >= 0 && (at < 0 || i < at || (i === at && w.length > found.length))) [at, found] = [i, w]
    }
    if (at < 0) break
    plain(text.slice(from, at))
    out.push(<mark key={`m${n}`}>{found.replace(hidden, escape)}</mark>)
    from = at + found.length
  }
  plain(text.slice(from))
  return out
}

// Up to this length a word is not broken for the sake of a table's other columns: an address, an email, an id.
const short = 32

/** A piece of foreign text in a line, cut at max characters. What may be cut, here or by its place, has the whole of it, up to 2,000, as its tooltip. */
export function Shown({ text, max = 300, className = '' }: { text: string | undefined; max?: number; className?: string }) {
  const s = text ?? ''
  const cut = s.length > max
  return (
    <bdi className={`shown ${s.length <= short ? 'shown-short' : ''} ${className}`} dir="ltr" title={s.length > short ? plain(s.slice(0, 2000)) : undefined}>
      {visible(cut ? s.slice(0, max) : s).map((n, i) => <Fragment key={i}>{n}</Fragment>)}
      {cut && '…'}
    </bdi>
  )
}

const firstPart = 64 << 10

/** A foreign text in pieces, of which those that differ from another text are marked. */
export function Marked({ pieces, label }: { pieces: Piece[]; label: string }) {
  const room = { left: mostMarked }
  const nodes = (text: string) => visible(text, [], room).map((n, i) => <Fragment key={i}>{n}</Fragment>)
  return (
    <pre className="raw max-h-[28rem] overflow-auto rounded-sm border border-line bg-panel p-3" tabIndex={0} role="region" aria-label={label}>
      {pieces.map((p, i) => (p.apart ? <mark key={i}>{nodes(p.text)}</mark> : <Fragment key={i}>{nodes(p.text)}</Fragment>))}
    </pre>
  )
}

/** A long foreign text, such as a response: its first 64 kB, and the rest when somebody asks for it. */
export function Raw({ text, marks, label }: { text: string; marks?: string[]; label: string }) {
  const [most, setMost] = useState(firstPart)
  return (
    <div>
      {/* A region that scrolls can be reached by keyboard. */}
      <pre className="raw max-h-[28rem] overflow-auto rounded-sm border border-line bg-panel p-3" tabIndex={0} role="region" aria-label={label}>
        {visible(text.slice(0, most), marks).map((n, i) => <Fragment key={i}>{n}</Fragment>)}
      </pre>
      {text.length > most && (
        <p className="mt-1 text-sm text-muted">
          {t.show.more(most, text.length)}{' '}
          <button className="link" onClick={() => setMost(most + 4 * firstPart)}>{t.show.moreButton}</button>
        </p>
      )}
    </div>
  )
}
