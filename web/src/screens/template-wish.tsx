import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { body, platform } from '../lib/api'
import { useAct } from '../lib/act'
import { Button, Dialog, Field, Problem } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

const o = t.templates

/** Has a model write a template from words: what the engine takes is kept and opened, all else comes into the editor as a draft. */
export function Wish({ onClose, onDraft }: { onClose: () => void; onDraft: (text: string, why: string) => void }) {
  const navigate = useNavigate()
  const [prompt, setPrompt] = useState('')
  const write = useAct(() => body(platform.POST('/v1/template/ai', { body: { prompt } })), ['template-search'], (x) => {
    onClose()
    if (!x.is_valid) return onDraft(x.completion, x.feedback || x.message)
    toast(o.wrote(x.message))
    void navigate({ to: `/templates/${x.template_id}`, search: { from: 'team' } } as never)
  }, { shown: true })
  return (
    <Dialog title={o.askTitle} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); write.mutate() }}>
        <Field label={o.prompt} hint={o.promptHint}>{(p) => <textarea {...p} autoFocus className="field" rows={5} required maxLength={10_000} value={prompt} onChange={(e) => setPrompt(e.target.value)} />}</Field>
        {write.isPending && <p role="status" className="mb-3 text-sm text-muted">{o.writing}</p>}
        {write.error && <Problem error={write.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={write.isPending}>{o.write}</Button></div>
      </form>
    </Dialog>
  )
}
