import { useState } from 'react'
import { agent, body, headers, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { count } from '../../lib/format'
import { save } from '../../lib/save'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Copy, Facts, Problem } from '../../ui/kit'
import { failed } from '../../ui/toast'
import { t } from '../../texts'

const o = t.chain

/** The chain of the audit log: each entry has the hash of the one before, so that what was changed is seen. */
export function Chain() {
  const [seen, setSeen] = useState<{ entries: number; last?: Agent['AuditLogVerification']; problems: Agent['AuditLogProblem'][]; count: number }>()
  const verify = useAct(async () => {
    let at: number | null | undefined, entries = 0, bad = 0
    const problems: Agent['AuditLogProblem'][] = []
    for (;;) { // a part at a time
      const part = await body(agent.GET('/api/v1/audit-logs/verify', { params: { query: at ? { starting_after: at } : {} } as never }))
      entries += part.entries
      bad += part.problem_count
      problems.push(...part.problems.slice(0, 20 - problems.length))
      setSeen({ entries, last: part, problems: [...problems], count: bad })
      at = part.next_starting_after
      if (!at) return
    }
  }, [], undefined, { shown: true })
  const file = async (format: string) => {
    try {
      const r = await fetch(`/api/v1/audit-logs/export?format=${format}`, { headers: headers() })
      if (!r.ok) throw new Error(t.errors.status(r.status))
      save(await r.blob(), `audit-log.${format}`, r)
    } catch (e) { failed(e) }
  }
  return (
    <Card title={o.title} className="mb-4" actions={<span className="flex gap-2"><Button onClick={() => void file('jsonl')}>JSONL</Button><Button onClick={() => void file('csv')}>CSV</Button><Button kind="primary" disabled={verify.isPending} onClick={() => { setSeen(undefined); verify.mutate() }}>{verify.isPending ? o.verifying : o.verify}</Button></span>}>
      <p className="text-sm text-muted">{o.text}</p>
      {verify.error && <Problem error={verify.error} />}
      {seen?.last && (
        <div role="status" className="mt-3 grid gap-2">
          <p className="flex items-center gap-2 text-sm"><Chip tone={verify.isPending ? 'busy' : seen.count === 0 ? 'good' : 'bad'}>{verify.isPending ? o.verifying : seen.count === 0 ? o.intact : o.broken(seen.count)}</Chip>{o.entries(count(seen.entries))}</p>
          {seen.problems.length > 0 && <ul className="list-disc pl-5 text-sm text-high">{seen.problems.map((p, i) => <li key={i}>{p.seq ? `${count(p.seq)}: ` : ''}<Shown text={p.problem} max={300} /></li>)}</ul>}
          <Facts of={[[o.last, <span key="l"><code className="break-all">{seen.last.last_hash}</code> <Copy text={seen.last.last_hash} /></span>], [o.sequence, count(seen.last.last_sequence)]]} />
          <p className="text-xs text-muted">{o.keep}</p>
        </div>
      )}
    </Card>
  )
}
