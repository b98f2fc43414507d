import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { count } from '../lib/format'
import { useRole } from '../lib/me'
import { useURL } from '../lib/search'
import { Shown } from '../lib/show'
import { Button, Card, Chip, Empty, Head, Loading, Problem, Table, To, useTitle } from '../ui/kit'
import { t } from '../texts'

const o = t.associated
const tone: Record<string, string> = { ok: 'good', empty: 'calm', skipped: 'calm', limited: 'wait', timed_out: 'wait' }
const most = 500

/** Domains that belong to the owner of one, and why that is believed. */
export function Associated() {
  useTitle(o.title)
  const [search, set] = useURL()
  const role = useRole()
  const [typed, setTyped] = useState(search.domain ?? '')
  const domain = search.domain ?? ''
  const found = useQuery<Platform['AssociatedDomains']>({
    queryKey: ['associated', team.id, domain], enabled: domain !== '', retry: false, refetchInterval: (q) => (q.state.data?.state === 'searching' ? 5000 : false),
    queryFn: async ({ signal }) => (await body(platform.GET('/v1/domain/associated', { params: { query: { domain } }, signal }))) as Platform['AssociatedDomains'],
  })
  const d = found.data
  return (
    <>
      <Head title={o.title} note={o.text} crumb={<To to="/assets" className="link">{t.nav.assets}</To>} />
      <form className="mb-4 flex flex-wrap items-center gap-2" onSubmit={(e) => { e.preventDefault(); set({ domain: typed.trim() || undefined }) }}>
        <input className="field max-w-80" aria-label={o.domain} placeholder="example.com" maxLength={253} spellCheck={false} autoCapitalize="none" value={typed} onChange={(e) => setTyped(e.target.value)} /><Button kind="primary" type="submit" disabled={!typed.trim()}>{o.find}</Button>
      </form>
      {!domain && <Card><Empty title={o.begin}>{o.beginText}</Empty></Card>}
      {domain && (
        <Card title={d ? o.count(d.unique_count) : o.title} flush className="mb-4" actions={d?.state === 'searching' && <span role="status"><Chip tone="busy">{o.searching}</Chip></span>}>
          {found.error ? <Problem error={found.error} retry={() => void found.refetch()} /> : !d ? <Loading what={o.title} /> : d.results.length === 0 ? <Empty title={d.state === 'searching' ? o.notYet : o.none} /> : (
            <Table label={o.title} head={[o.domain, o.by, o.why, t.assets.answer, o.names, '']}>
              {d.results.slice(0, most).map((r) => (
                <tr key={r.domain}><td className="font-medium"><Shown text={r.domain} max={120} /></td><td>{r.sources.map((s) => <Chip key={s}>{o.source[s] ?? s}</Chip>)}</td><td className="text-muted"><Why of={r.evidence} /></td>
                  <td>{r.evidence.status_code ? <><Chip>{r.evidence.status_code}</Chip> <Shown text={r.evidence.title} max={80} /></> : r.evidence.active === false ? <span className="text-muted">{o.silent}</span> : ''}</td><td>{r.evidence.subdomain_count === undefined ? '' : count(r.evidence.subdomain_count)}</td>
                  <td>{role.writes && <To to="/enumerations" search={{ new: '1', domain: r.domain }} className="btn">{o.enumerate}</To>}</td></tr>
              ))}
            </Table>
          )}
          {d && d.results.length > most && <p className="px-3 py-2 text-sm text-muted">{t.more(d.results.length - most)}</p>}
          {d?.limited_by_plan && <p className="px-3 py-2 text-sm text-medium">{o.plan}</p>}
        </Card>
      )}
      {d && (
        <Card title={t.enumerations.sources} flush>
          <Table label={t.enumerations.sources} head={[t.work.source, t.scans.state, t.work.found]}>
            {d.source_health.map((s) => <tr key={s.domain + s.source + s.history}><td><Shown text={s.source} max={40} className="font-medium" /></td><td><Chip tone={tone[s.state] ?? 'bad'}>{s.state.replace('_', ' ')}</Chip>{s.detail && <span className="block text-xs text-muted"><Shown text={s.detail} max={200} /></span>}</td><td>{count(s.count)}</td></tr>)}
          </Table>
        </Card>
      )}
    </>
  )
}

function Why({ of: e }: { of: Platform['Evidence'] }) {
  const facts: [string, string | undefined][] = [[o.organisation, e.registrant_org ?? e.orgname], [o.certificate, [e.cert_common_name, e.cert_org_name].filter(Boolean).join(', ')], [o.registrar, e.registrar], [o.acquired, [e.acquired_company, e.acquirer_name].filter(Boolean).join(' ← ')], [o.searched, e.search_identifier]]
  return <>{facts.filter(([, v]) => v).map(([k, v]) => <span key={k} className="block text-xs">{k}: <Shown text={v} max={160} /></span>)}</>
}
