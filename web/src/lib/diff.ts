import { diffLines, diffWordsWithSpace } from 'diff'

// Two texts are compared by lines (Myers' algorithm, of the library diff), and lines that stand in each other's place by
// words. What differs a lot is not worth that time: it is marked as a whole.

/** A piece of a text, and whether the other text has something else in its place. */
export type Piece = { text: string; apart: boolean }

/** Two texts in pieces, and how many lines differ; too: they have so little in common that nothing is marked. */
export type Apart = { first: Piece[]; second: Piece[]; lines: number; too: boolean }

const mostLines = 2000 // lines that differ
const mostWords = 400 // words of one place
const mostPieces = 400 // each is an element of the page

export function apart(first: string, second: string): Apart {
  const out: Apart = { first: [], second: [], lines: 0, too: false }
  const parts = diffLines(first, second, { maxEditLength: mostLines })
  if (!parts) return { first: [{ text: first, apart: false }], second: [{ text: second, apart: false }], lines: 0, too: true }
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (!part.added && !part.removed) {
      out.first.push({ text: part.value, apart: false })
      out.second.push({ text: part.value, apart: false })
      continue
    }
    const next = parts[i + 1]
    if (part.removed && next?.added) {
      place(out, part.value, next.value)
      out.lines += Math.max(part.count, next.count)
      i++
      continue
    }
    (part.removed ? out.first : out.second).push({ text: part.value, apart: true })
    out.lines += part.count
  }
  return { ...out, first: few(out.first), second: few(out.second) }
}

/** Adds lines that stand in each other's place: the words of them that differ are apart. */
function place(out: Apart, first: string, second: string) {
  const words = diffWordsWithSpace(first, second, { maxEditLength: mostWords })
  if (!words) {
    out.first.push({ text: first, apart: true })
    out.second.push({ text: second, apart: true })
    return
  }
  for (const w of words) {
    if (!w.added) out.first.push({ text: w.value, apart: w.removed })
    if (!w.removed) out.second.push({ text: w.value, apart: w.added })
  }
}

/** The pieces, of which the last has the rest when there are many. */
function few(pieces: Piece[]): Piece[] {
  if (pieces.length <= mostPieces) return pieces
  return [...pieces.slice(0, mostPieces), { text: pieces.slice(mostPieces).map((p) => p.text).join(''), apart: true }]
}
