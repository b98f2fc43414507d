import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Confirm, Copy, Empty, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const s = t.scope
const kinds = ['scan_target', 'enumeration_target', 'template'] as const

/** What is never tested, and the domains that the team has shown to be its own. */
export function Scope() {
  return <div className="grid max-w-5xl gap-4 *:min-w-0"><Exclusions /><Domains /></div>
}

function Exclusions() {
  const role = useRole()
  const [kind, setKind] = useState<(typeof kinds)[number]>('scan_target')
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<Set<number>>(new Set())
  const found = useQuery({ queryKey: ['exclusions', team.id], queryFn: () => body(platform.GET('/v1/scans/config/exclude')) })
  const values = text.split(/[\s,]+/).filter(Boolean)
  const add = useAct(() => body(platform.POST('/v1/scans/config/exclude', { body: { exclude_type: kind, values } as never })), ['exclusions'], () => { toast(s.added(values.length)); setText('') }, { shown: true })
  const remove = useAct((ids: number[]) => platform.DELETE('/v1/scans/config/exclude', { body: { ids } }), ['exclusions'], () => setChosen(new Set()))
  const rows = found.data?.data ?? []
  return (
    <Card title={s.exclusions} flush actions={chosen.size > 0 && <Button disabled={remove.isPending} onClick={() => remove.mutate([...chosen])}>{s.drop(chosen.size)}</Button>}>
      {role.writes && (
        <form className="border-b border-line p-3" onSubmit={(e) => { e.preventDefault(); add.mutate() }}>
          <div className="grid gap-x-3 sm:grid-cols-[14rem_minmax(0,1fr)]">
            <Field label={s.kind}>{(p) => <select {...p} className="field" value={kind} onChange={(e) => setKind(e.target.value as typeof kind)}>{kinds.map((k) => <option key={k} value={k}>{s.kinds[k]}</option>)}</select>}</Field>
            <Field label={s.values} hint={s.hint[kind]}>{(p) => <textarea {...p} className="field font-mono" rows={2} required spellCheck={false} value={text} onChange={(e) => setText(e.target.value)} />}</Field>
          </div>
          {add.error && <Problem error={add.error} />}
          <Button type="submit" kind="primary" disabled={add.isPending || values.length === 0}>{s.add}</Button>
        </form>
      )}
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={s.exclusions} /> : rows.length === 0 ? <Empty title={s.none}>{s.noneText}</Empty> : (
        <Table label={s.exclusions} head={[...(role.writes ? [''] : []), s.value, s.kind, s.holds, s.since]}>
          {rows.map((x) => (
            <tr key={x.id}>{role.writes && <td className="w-8"><input type="checkbox" className="size-4" aria-label={s.choose(x.value)} checked={chosen.has(x.id)} onChange={() => setChosen((old) => { const n = new Set(old); if (!n.delete(x.id)) n.add(x.id); return n })} /></td>}
              <td><Shown text={x.value} max={200} className="font-medium" /></td><td>{s.kinds[x.exclude_type]}</td><td className="text-muted">{x.scan_id || x.enumeration_id ? <code className="text-xs">{x.scan_id ?? x.enumeration_id}</code> : s.everywhere}</td><td className="text-muted"><Time at={x.created_at} /></td></tr>
          ))}
        </Table>
      )}
    </Card>
  )
}

const domainTone: Record<string, string> = { verified: 'good', pending: 'wait', failed: 'bad', expired: 'bad' }
const ways = ['dns_text_record', 'html_meta_tag', 'file_upload'] as const

function Domains() {
  const role = useRole()
  const [domain, setDomain] = useState('')
  const [way, setWay] = useState<(typeof ways)[number]>('dns_text_record')
  const [gone, setGone] = useState<Platform['DomainItem']>()
  const found = useQuery({ queryKey: ['domains', team.id], queryFn: () => body(platform.GET('/v1/domain', { params: { query: { limit: 200 } as never } })) })
  const add = useAct(() => body(platform.POST('/v1/domain', { body: { domain: domain.trim(), verification_type: way } })), ['domains'], () => setDomain(''), { shown: true })
  const verify = useAct((domain_id: string) => body(platform.POST('/v1/domain/{domain_id}/verify', { params: { path: { domain_id } } })), ['domains'], (d) => toast(s.looked(d.domain, s.domainState[d.status] ?? d.status)))
  const remove = useAct(() => platform.DELETE('/v1/domain/{domain_id}', { params: { path: { domain_id: gone!.id } } }), ['domains'], () => setGone(undefined), { shown: true })
  return (
    <Card title={s.domains} flush>
      {role.writes && (
        <form className="flex flex-wrap items-end gap-3 border-b border-line p-3 [&_div]:mb-0" onSubmit={(e) => { e.preventDefault(); add.mutate() }}>
          <div className="min-w-48 flex-1"><Field label={s.domain}>{(p) => <input {...p} className="field" required maxLength={253} placeholder="example.com" value={domain} onChange={(e) => setDomain(e.target.value)} />}</Field></div>
          <div className="w-56"><Field label={s.way}>{(p) => <select {...p} className="field" value={way} onChange={(e) => setWay(e.target.value as typeof way)}>{ways.map((x) => <option key={x} value={x}>{s.ways[x]}</option>)}</select>}</Field></div>
          <Button type="submit" disabled={add.isPending}>{s.claim}</Button>
        </form>
      )}
      {add.error && <Problem error={add.error} />}
      {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={s.domains} /> : found.data.data.length === 0 ? <Empty title={s.noDomains}>{s.noDomainsText}</Empty> : (
        <ul className="divide-y divide-line">
          {found.data.data.map((d) => (
            <li key={d.id} className="flex flex-wrap items-start gap-3 px-3 py-2.5 text-sm">
              <div className="min-w-0 flex-1 basis-72">
                <p className="flex flex-wrap items-center gap-2"><Shown text={d.domain} max={120} className="font-medium" /><Chip tone={domainTone[d.status]}>{s.domainState[d.status] ?? d.status}</Chip>{d.verified_at && <span className="text-xs text-muted"><Time at={d.verified_at} /></span>}</p>
                {d.status !== 'verified' && <>{d.instructions && <p className="mt-1 text-muted"><Shown text={d.instructions} max={600} /></p>}{d.verification_string && <p className="mt-1"><code className="text-xs break-all select-all"><Shown text={d.verification_string} max={300} /></code> <Copy text={d.verification_string} /></p>}{d.last_result && <p className="mt-1 text-xs text-medium"><Shown text={d.last_result} max={300} /></p>}</>}
              </div>
              {role.writes && <span className="flex gap-2">{d.status !== 'verified' && <Button disabled={verify.isPending} onClick={() => verify.mutate(d.id)}>{s.verify}</Button>}<Button onClick={() => setGone(d)}>{t.delete}</Button></span>}
            </li>
          ))}
        </ul>
      )}
      {gone && <Confirm title={s.deleteTitle} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{s.deleteText(gone.domain)}</Confirm>}
    </Card>
  )
}
