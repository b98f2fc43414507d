import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, team, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { useRole } from '../../lib/me'
import { Shown } from '../../lib/show'
import { Button, Card, Confirm, Field, Loading, Problem, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'

const m = t.memory
const lines = (s: string) => s.split('\n').map((x) => x.trim()).filter(Boolean)

/** What all of one's tasks remember: facts that the person states, and what the agent concluded. */
export function Memory() {
  const found = useQuery({ queryKey: ['memory', team.id], queryFn: () => body(agent.GET('/api/v1/memory')) })
  return found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.memory!} /> : <Form key={found.data.updated_at ?? ''} of={found.data} />
}

function Form({ of }: { of: Agent['GlobalMemory'] }) {
  const role = useRole()
  const [facts, setFacts] = useState(of.data.facts.join('\n'))
  const [forget, setForget] = useState(false)
  const save = useAct(() => body(agent.PATCH('/api/v1/memory', { body: { facts: lines(facts) } })), ['memory'], () => toast(m.saved), { shown: true })
  const drop = useAct(() => agent.DELETE('/api/v1/memory'), ['memory'], () => setForget(false), { shown: true })
  const lists: [string, string[]][] = [[m.insights, of.data.insights], [m.todos, of.data.todos.map((x) => x.content)], [m.said, of.data.user_runtime_input], [m.files, of.data.tracked_files.map((x) => `${x.path} ${x.summary}`)]]
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      <Card title={m.title}>
        <form onSubmit={(e) => { e.preventDefault(); save.mutate() }}>
          <p className="mb-3 max-w-prose text-sm text-muted">{m.text}</p>
          <Field label={m.facts} hint={m.factsHint}>{(p) => <textarea {...p} className="field" rows={8} disabled={!role.writes} value={facts} onChange={(e) => setFacts(e.target.value)} />}</Field>
          {save.error && <Problem error={save.error} />}
          <div className="flex flex-wrap items-center gap-2">
            {role.writes && <Button type="submit" kind="primary" disabled={save.isPending}>{t.save}</Button>}
            {role.writes && of.updated_at && <Button onClick={() => setForget(true)}>{m.forget}</Button>}
            {of.updated_at && <span className="text-sm text-muted">{m.changed} <Time at={of.updated_at} /></span>}
          </div>
        </form>
      </Card>
      {lists.filter(([, x]) => x.length > 0).map(([title, x]) => (
        <Card key={title} title={title}><ul className="grid list-disc gap-1 pl-4 text-sm">{x.slice(0, 100).map((y, i) => <li key={i}><Shown text={y} max={600} /></li>)}</ul></Card>
      ))}
      {forget && <Confirm title={m.forgetTitle} action={m.forget} busy={drop.isPending} error={drop.error} onClose={() => setForget(false)} onYes={() => drop.mutate()}>{m.forgetText}</Confirm>}
    </div>
  )
}
