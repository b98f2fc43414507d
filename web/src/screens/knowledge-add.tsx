import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAct } from '../lib/act'
import { agent, body, check, headers, team, type Agent } from '../lib/api'
import { size } from '../lib/format'
import { useRole } from '../lib/me'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Dialog, Field, Loading, Problem } from '../ui/kit'
import { toast } from '../ui/toast'
import { t } from '../texts'

const x = t.knowledge
const mostAtOnce = 20, longest = 4 << 20

export const newKinds = ['text', 'file', 'url', 'git'] as const
type Kind = (typeof newKinds)[number]

/** Stores a file of this computer among the user's files, and says its key. */
async function upload(file: File): Promise<string> {
  const key = `knowledge/${file.name}`
  await check(await fetch(`/api/v1/files?key=${encodeURIComponent(key)}`, { method: 'POST', headers: { ...headers(), 'Content-Type': 'application/octet-stream' }, body: file }))
  return key
}

/** Adds a text, files, pages or a repository. The address says which of them. */
export function AddKnowledge({ onClose }: { onClose: () => void }) {
  const role = useRole()
  const [search, set] = useURL()
  const kind = (search.new ?? 'text') as Kind
  const [name, setName] = useState('')
  const [text, setText] = useState('')
  const [urls, setUrls] = useState('')
  const [git, setGit] = useState('')
  const [ref, setRef] = useState('')
  const [files, setFiles] = useState<File[]>([])
  const [keys, setKeys] = useState<string[]>([])
  const [shared, setShared] = useState(false)
  const pages = urls.split(/\s+/).filter(Boolean)
  const [sent] = useState(() => new Map<File, string>()) // what is uploaded already stays so when the rest is tried again
  const add = useAct(async () => {
    const what: Agent['Request'] = { name: name.trim() || undefined, shared: shared || undefined }
    if (kind === 'text') what.content = text
    if (kind === 'url') what.urls = pages
    if (kind === 'git') { what.git_url = git.trim(); what.ref = ref.trim() || undefined }
    if (kind === 'file') {
      for (const f of files) if (!sent.has(f)) sent.set(f, await upload(f))
      what.file_keys = [...new Set([...keys, ...files.map((f) => sent.get(f)!)])]
    }
    return body(agent.POST('/api/v1/knowledge/index', { body: what }))
  }, ['knowledge', 'files'], (made) => { toast(x.added(made.total)); onClose() }, { shown: true })
  const n = kind === 'file' ? files.length + keys.length : kind === 'url' ? pages.length : 1
  const long = files.find((f) => f.size > longest)
  const wrong = n > mostAtOnce ? x.tooMany : kind === 'file' && long ? x.tooLong(long.name) : ''
  const empty = kind === 'text' ? !text.trim() : kind === 'git' ? !git.trim() : n === 0
  return (
    <Dialog title={x.new} onClose={onClose} wide>
      <form onSubmit={(e) => { e.preventDefault(); if (!add.isPending) add.mutate() }}>
        <fieldset className="mb-4">
          <legend className="mb-1 text-sm font-medium">{x.what}</legend>
          <div className="flex flex-wrap gap-x-4 gap-y-1">{newKinds.map((k) => <label key={k} className="flex min-h-6 items-center gap-1.5 text-sm"><input type="radio" name="kind" checked={kind === k} onChange={() => { add.reset(); set({ new: k }, { replace: true }) }} />{x.newKinds[k]}</label>)}</div>
        </fieldset>
        {kind === 'text' && <Field label={x.text} hint={x.textHint}>{(p) => <textarea {...p} autoFocus className="field" rows={10} required maxLength={1 << 20} value={text} onChange={(e) => setText(e.target.value)} />}</Field>}
        {kind === 'url' && <Field label={x.urls} hint={x.urlsHint} error={wrong}>{(p) => <textarea {...p} className="field font-mono" rows={4} required spellCheck={false} placeholder="https://wiki.example/runbook" value={urls} onChange={(e) => setUrls(e.target.value)} />}</Field>}
        {kind === 'git' && (
          <div className="grid gap-x-3 sm:grid-cols-[minmax(0,1fr)_12rem]">
            <Field label={x.git} hint={x.gitHint}>{(p) => <input {...p} className="field" type="url" required maxLength={2048} placeholder="https://git.example/team/runbooks" value={git} onChange={(e) => setGit(e.target.value)} />}</Field>
            <Field label={x.ref} hint={x.refHint}>{(p) => <input {...p} className="field" maxLength={200} value={ref} onChange={(e) => setRef(e.target.value)} />}</Field>
          </div>
        )}
        {kind === 'file' && (
          <>
            <Field label={x.upload} hint={x.uploadHint} error={wrong}>{(p) => <input {...p} type="file" multiple accept=".txt,.md,.markdown,.html,.htm,.rst,.csv,.json,.yaml,.yml,.xml,text/*" className="field !py-1.5" onChange={(e) => setFiles([...(e.target.files ?? [])])} />}</Field>
            <Stored keys={keys} onChange={setKeys} />
          </>
        )}
        {n <= 1 && <Field label={x.name} hint={x.nameHint[kind]}>{(p) => <input {...p} className="field" maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}</Field>}
        {role.admin && <label className="mb-4 flex items-start gap-2 text-sm"><input type="checkbox" className="mt-1" checked={shared} onChange={(e) => setShared(e.target.checked)} /><span>{x.share}<span className="block text-xs text-muted">{x.shareHint}</span></span></label>}
        {add.error && <Problem error={add.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={add.isPending || empty || !!wrong}>{add.isPending ? x.adding : x.add}</Button></div>
      </form>
    </Dialog>
  )
}

/** Files that the user has uploaded before, to be chosen. */
function Stored({ keys, onChange }: { keys: string[]; onChange: (keys: string[]) => void }) {
  const found = useQuery({ queryKey: ['files', team.id], queryFn: () => body(agent.GET('/api/v1/files', { params: { query: { page_size: 100 } as never } })) })
  const rows = found.data?.items ?? []
  return (
    <fieldset className="mb-4">
      <legend className="mb-1 text-sm font-medium">{x.stored}</legend>
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={x.stored} /> : rows.length === 0 ? <p className="text-xs text-muted">{x.noStored}</p> : (
        <ul className="max-h-48 overflow-auto rounded-sm border border-line" tabIndex={0} aria-label={x.stored}>
          {rows.map((f) => (
            <li key={f.key}><label className="flex min-h-8 items-center gap-2 px-2 text-sm hover:bg-panel">
              <input type="checkbox" checked={keys.includes(f.key)} onChange={() => onChange(keys.includes(f.key) ? keys.filter((k) => k !== f.key) : [...keys, f.key])} />
              <Shown text={f.key} max={120} className="min-w-0 flex-1" /><span className="text-xs text-muted">{size(f.size)}</span>
            </label></li>
          ))}
        </ul>
      )}
    </fieldset>
  )
}
