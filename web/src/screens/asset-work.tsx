import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { body, platform, type Platform } from '../lib/api'
import { useAct } from '../lib/act'
import { useRole } from '../lib/me'
import { save } from '../lib/save'
import type { Search } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Dialog, Field, Problem } from '../ui/kit'
import { failed, toast } from '../ui/toast'
import { t } from '../texts'

const g = t.group

/** The filter of a list of assets, from its address. */
export const filterOf = (s: Search): Platform['AssetFilters'] => ({ search: s.q, labels: s.label, custom_filter: s.where, is_new: s.new === '1' ? true : undefined })
const words = (s: string) => [...new Set(s.split(',').map((x) => x.trim()).filter(Boolean))]

/** What can be done with all assets that are shown: a group of them, labels for them, a file of them. */
export function WithShown({ filter, total }: { filter: Platform['AssetFilters']; total: number }) {
  const role = useRole()
  const [open, setOpen] = useState<'group' | 'labels'>()
  const [busy, setBusy] = useState(false)
  const some = Object.values(filter).some((v) => v !== undefined)
  const file = async () => {
    setBusy(true)
    try {
      const { data, response } = await platform.GET('/v1/asset/enumerate/export', { params: { query: { ...filter, format: 'csv' } as never }, parseAs: 'blob' })
      save(data as unknown as Blob, 'assets.csv', response)
    } catch (e) { failed(e as Error) } finally { setBusy(false) }
  }
  return (
    <>
      {role.writes && some && <Button onClick={() => setOpen('group')}>{g.save}</Button>}
      {role.writes && total > 0 && <Button onClick={() => setOpen('labels')}>{g.labelAll}</Button>}
      <Button disabled={busy || total === 0} onClick={() => void file()}>{busy ? t.findings.exporting : g.csv}</Button>
      {open === 'group' && <SaveGroup filter={filter} total={total} onClose={() => setOpen(undefined)} />}
      {open === 'labels' && <LabelShown filter={filter} total={total} onClose={() => setOpen(undefined)} />}
    </>
  )
}

function SaveGroup({ filter, total, onClose }: { filter: Platform['AssetFilters']; total: number; onClose: () => void }) {
  const navigate = useNavigate()
  const [name, setName] = useState('')
  const make = useAct(() => body(platform.POST('/v1/asset/enumerate/group', { body: { name, filters: filter } })), ['enumerations'], (made) => { toast(g.saved(name)); void navigate({ to: `/enumerations/${made.id}` } as never) }, { shown: true })
  return (
    <Dialog title={g.save} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); make.mutate() }}>
        <p className="mb-3 text-sm text-muted">{g.saveText(total)}</p>
        <Field label={t.scans.name}>{(p) => <input {...p} autoFocus className="field" required maxLength={200} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        {make.error && <Problem error={make.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={make.isPending}>{t.save}</Button></div>
      </form>
    </Dialog>
  )
}

type How = 'append' | 'replace' | 'delete'

function LabelShown({ filter, total, onClose }: { filter: Platform['AssetFilters']; total: number; onClose: () => void }) {
  const [text, setText] = useState('')
  const [how, setHow] = useState<How>('append')
  const put = useAct(() => body(platform.PATCH('/v1/asset/labels', { params: { query: { update_type: how } }, body: { filters: filter, labels: words(text) } })), ['assets', 'asset'], (out) => { toast(g.labelled(out.asset_count)); onClose() }, { shown: true })
  return (
    <Dialog title={g.labelAll} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); put.mutate() }}>
        <p className="mb-3 text-sm text-muted">{g.labelText(total)}</p>
        <Field label={t.findings.labels} hint={g.labelsHint}>{(p) => <input {...p} autoFocus className="field" required={how !== 'replace'} maxLength={2000} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
        <fieldset className="mb-4 flex flex-wrap gap-4 text-sm"><legend className="sr-only">{g.how}</legend>
          {(['append', 'replace', 'delete'] as const).map((x) => <label key={x} className="flex items-center gap-1.5"><input type="radio" name="how" checked={how === x} onChange={() => setHow(x)} />{g.hows[x]}</label>)}
        </fieldset>
        {put.error && <Problem error={put.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind={how === 'append' ? 'primary' : 'danger'} type="submit" disabled={put.isPending}>{g.change(total)}</Button></div>
      </form>
    </Dialog>
  )
}

/** The labels of one asset, and what changes them. */
export function AssetLabels({ of }: { of: Platform['EnumerationContent'] }) {
  const role = useRole()
  const [text, setText] = useState('')
  const path = { asset_id: of.id }
  const put = useAct((x: { labels: string[]; how: 'append' | 'delete' }) => body(platform.PATCH('/v1/asset/{asset_id}/labels', { params: { path, query: { update_type: x.how } }, body: { labels: x.labels } })), ['assets', 'asset', 'asset-changes'], () => setText(''))
  const labels = of.labels ?? []
  return (
    <div>
      <ul className="flex flex-wrap gap-1.5">
        {labels.length === 0 && <li className="text-muted">{g.noLabels}</li>}
        {labels.map((l) => (
          <li key={l} className="flex items-center gap-1 rounded-sm bg-info-soft px-1.5 text-xs leading-5 text-info"><Shown text={l} max={80} />
            {role.writes && <button type="button" className="px-1 hover:text-text" aria-label={g.removeLabel(l)} disabled={put.isPending} onClick={() => put.mutate({ labels: [l], how: 'delete' })}>✕</button>}</li>
        ))}
      </ul>
      {role.writes && (
        <form className="mt-1.5 flex flex-wrap gap-2" onSubmit={(e) => { e.preventDefault(); if (words(text).length > 0) put.mutate({ labels: words(text), how: 'append' }) }}>
          <input className="field !w-48 max-w-full" aria-label={g.addLabel} placeholder={g.addLabel} maxLength={500} value={text} onChange={(e) => setText(e.target.value)} /><Button type="submit" disabled={put.isPending}>{g.add}</Button>
        </form>
      )}
    </div>
  )
}
