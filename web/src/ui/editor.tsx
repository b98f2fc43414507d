import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap, type CompletionContext } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, Prec } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'
import { offersOf, placeOf, type Schema } from '../lib/complete'

export type Mark = { line: number; message: string }

// The editor stands in a shadow root: there it writes its styles into a sheet of the page and not into an element, which
// the page's policy refuses. Variables of colours reach into it.
const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--text)', backgroundColor: 'var(--canvas)', fontSize: '0.8125rem' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: "ui-monospace, 'SF Mono', 'Cascadia Mono', 'Liberation Mono', Menlo, Consolas, monospace", lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--muted)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--hover) 55%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--medium-soft)' },
  '.cm-tooltip': { backgroundColor: 'var(--canvas)', color: 'var(--text)', border: '1px solid var(--line)', borderRadius: '4px', boxShadow: 'var(--shadow)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft)', color: 'var(--accent)' },
  '.cm-completionDetail': { color: 'var(--muted)', fontStyle: 'normal' },
  '.cm-diagnostic': { borderLeftColor: 'var(--high)', maxWidth: '36rem', whiteSpace: 'pre-wrap' },
  '.cm-panels': { backgroundColor: 'var(--panel)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--high)', textUnderlineOffset: '3px' },
  '.cm-lint-marker-error': { content: '"●"', color: 'var(--high)' },
})
const colours = syntaxHighlighting(HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' }, { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.bool, tags.number, tags.null, tags.keyword], color: 'var(--unknown)' }, { tag: tags.comment, color: 'var(--muted)' },
]))

/**
 * An editor of a template. Tab leaves it, as it leaves every field; Ctrl-] and Ctrl-[ indent. The schema is asked for when
 * something is to be completed.
 */
export function Editor({ label, text, readOnly = false, marks, schema, onChange, onSave, goTo }: {
  label: string; text: string; readOnly?: boolean; marks: Mark[]; schema?: () => Promise<Schema>; onChange?: (text: string) => void; onSave?: () => void; goTo?: { line: number }
}) {
  const host = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const now = useRef({ schema, onChange, onSave })
  now.current = { schema, onChange, onSave }
  const first = useRef(text)
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' })
    const complete = async (c: CompletionContext) => {
      const place = placeOf(c.state.sliceDoc(0, c.pos), c.state.sliceDoc(c.pos))
      const from = now.current.schema
      if (!place || !from || (!c.explicit && !place.typed && !place.value)) return null
      const options = offersOf(await from(), place)
      return options.length === 0 ? null : { from: c.pos - place.typed.length, options: options.map((o) => ({ label: o.label, apply: o.apply, detail: o.detail, info: o.info, type: o.kind })), validFor: /^[\w-]*$/ }
    }
    const v = new EditorView({
      root, parent: root as unknown as Element,
      state: EditorState.create({
        doc: first.current,
        extensions: [
          lineNumbers(), highlightActiveLine(), drawSelection(), indentUnit.of('  '), yaml(), colours, look, search({ top: true }),
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0', spellcheck: 'false', autocapitalize: 'off' }),
          ...(readOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ role: 'textbox', 'aria-readonly': 'true', 'aria-multiline': 'true' })] : [
            history(), indentOnInput(), bracketMatching(), closeBrackets(), highlightSelectionMatches(), lintGutter(), autocompletion({ override: [complete] }),
            Prec.highest(keymap.of([{ key: 'Mod-s', preventDefault: true, run: () => { now.current.onSave?.(); return true } }])),
            keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap]),
            EditorView.updateListener.of((u) => { if (u.docChanged) now.current.onChange?.(u.state.doc.toString()) }),
          ]),
          keymap.of([...searchKeymap, ...defaultKeymap]),
        ],
      }),
    })
    view.current = v
    return () => { v.destroy(); view.current = null }
  }, [label, readOnly])
  useEffect(() => { // another text than the one that was typed: it was loaded
    const v = view.current
    if (v && v.state.doc.toString() !== text) v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: text } })
  }, [text])
  useEffect(() => {
    const v = view.current
    if (!v || readOnly) return
    v.dispatch(setDiagnostics(v.state, marks.map((m) => {
      const line = v.state.doc.line(Math.max(1, Math.min(m.line, v.state.doc.lines)))
      return { from: line.from + (line.text.length - line.text.trimStart().length), to: line.to, severity: 'error' as const, message: m.message }
    })))
  }, [marks, readOnly])
  useEffect(() => {
    const v = view.current
    if (!v || !goTo) return
    const line = v.state.doc.line(Math.max(1, Math.min(goTo.line, v.state.doc.lines)))
    v.dispatch({ selection: { anchor: line.from }, scrollIntoView: true })
    v.focus()
  }, [goTo])
  return <div ref={host} data-editor="" className="h-[34rem] min-h-64 resize-y overflow-hidden" />
}
