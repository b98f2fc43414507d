import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { agent, body, team } from '../lib/api'
import { useURL } from '../lib/search'
import { Button, Card, Field, Head, Problem, To, useTitle } from '../ui/kit'
import { t } from '../texts'

export function NewTask() {
  useTitle(t.tasks.new)
  const [search] = useURL()
  const navigate = useNavigate()
  const [text, setText] = useState(search.text ?? '')
  const [model, setModel] = useState('')
  const [hosts, setHosts] = useState('')
  const [intrusiveness, setIntrusiveness] = useState('safe')
  const [money, setMoney] = useState('')
  const [requests, setRequests] = useState('')
  const [minutes, setMinutes] = useState('')
  const [plan, setPlan] = useState(false)
  const models = useQuery({ queryKey: ['models', team.id], queryFn: () => body(agent.GET('/api/v1/models')) })
  const n = (s: string, by = 1) => (s && Number(s) > 0 ? Number(s) * by : undefined)
  const create = useMutation({
    mutationFn: () => body(agent.POST('/api/v1/tasks', {
      params: { header: { Accept: 'application/json' } } as never,
      body: {
        task: text, response_format: 'json', model: model || undefined, mode: plan ? 'plan' : undefined,
        scope: { hosts: hosts.trim() ? hosts.split(/[\s,]+/).filter(Boolean) : undefined, intrusiveness: intrusiveness === 'safe' ? undefined : intrusiveness },
        budget: { money_usd: n(money), requests: n(requests), seconds: n(minutes, 60) },
      } as never,
    })),
    onSuccess: (made) => void navigate({ to: `/tasks/${(made as unknown as { id: string }).id}` } as never),
  })
  const list = models.data?.models ?? []
  const builtin = models.data && list.length === 0
  return (
    <>
      <Head title={t.tasks.new} crumb={<To to="/tasks" className="link">{t.tasks.title}</To>} note={t.tasks.newNote} />
      <form className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]" onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
        <Card title={t.tasks.instruction} className="self-start">
          <Field label={t.tasks.what} hint={t.tasks.whatHint}>
            {(p) => <textarea {...p} className="field !text-sm" rows={9} required autoFocus maxLength={100_000} placeholder={t.tasks.example} value={text} onChange={(e) => setText(e.target.value)}
              onKeyDown={(e) => { if (e.key === 'Enter' && (e.ctrlKey || e.metaKey) && text.trim()) create.mutate() }} />}
          </Field>
          <p className="text-xs text-muted">{t.tasks.examples}</p>
          <ul className="mt-1 grid gap-1 text-sm">
            {t.tasks.ideas.map((idea) => <li key={idea}><button type="button" className="link text-left" onClick={() => setText(idea)}>{idea}</button></li>)}
          </ul>
        </Card>
        <div className="grid content-start gap-4">
          <Card title={t.tasks.limits}>
            <Field label={t.tasks.hosts} hint={t.tasks.hostsHint}>{(p) => <textarea {...p} className="field font-mono" rows={2} spellCheck={false} value={hosts} onChange={(e) => setHosts(e.target.value)} />}</Field>
            <Field label={t.tasks.intrusiveness} hint={t.tasks.intrusivenessText[intrusiveness]}>
              {(p) => <select {...p} className="field" value={intrusiveness} onChange={(e) => setIntrusiveness(e.target.value)}>{['passive', 'safe', 'active', 'intrusive'].map((x) => <option key={x} value={x}>{t.tasks.intrusivenessName[x]}</option>)}</select>}
            </Field>
            <div className="grid grid-cols-2 gap-x-3">
              <Field label={t.tasks.requests}>{(p) => <input {...p} className="field" type="number" min={1} step={1} value={requests} onChange={(e) => setRequests(e.target.value)} />}</Field>
              <Field label={t.tasks.minutes}>{(p) => <input {...p} className="field" type="number" min={1} step={1} value={minutes} onChange={(e) => setMinutes(e.target.value)} />}</Field>
              {!builtin && <Field label={t.tasks.money}>{(p) => <input {...p} className="field" type="number" min={0.01} step={0.01} value={money} onChange={(e) => setMoney(e.target.value)} />}</Field>}
            </div>
            {builtin ? <p className="text-xs text-muted">{t.tasks.builtin}</p> : (
              <>
                <Field label={t.tasks.model}>
                  {(p) => <select {...p} className="field" value={model} onChange={(e) => setModel(e.target.value)}><option value="">{t.tasks.auto}</option>{list.map((m) => <option key={m.id} value={m.id}>{m.name || m.id}</option>)}</select>}
                </Field>
                <label className="flex items-center gap-2 text-sm"><input type="checkbox" checked={plan} onChange={(e) => setPlan(e.target.checked)} />{t.tasks.planFirst}</label>
              </>
            )}
          </Card>
          {create.error && <Problem error={create.error} />}
          <Button kind="primary" type="submit" disabled={create.isPending || !text.trim()}>{t.tasks.start} <span className="kbd !border-transparent !bg-transparent !text-inherit" aria-hidden="true">Ctrl ↵</span></Button>
          <p className="text-xs text-muted">{t.scans.permission}</p>
        </div>
      </form>
    </>
  )
}
