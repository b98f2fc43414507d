import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { body, platform } from '../../lib/api'
import { date } from '../../lib/format'
import { Shown } from '../../lib/show'
import { Button, Card, Chip, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { failed, toast } from '../../ui/toast'
import { t } from '../../texts'
import { SecondFactor } from './factor'

export function Account() {
  const queries = useQueryClient()
  const [now, setNow] = useState('')
  const [next, setNext] = useState('')
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => body(platform.GET('/v1/user/sessions')) })
  const invitations = useQuery({ queryKey: ['invitations'], queryFn: () => body(platform.GET('/v1/user/invitations')) })
  const refresh = () => { for (const k of ['sessions', 'invitations', 'me']) void queries.invalidateQueries({ queryKey: [k] }) }
  const change = useMutation({
    mutationFn: () => platform.POST('/v1/user/password', { body: { current_password: now, new_password: next } }),
    onSuccess: () => { setNow(''); setNext(''); toast(t.settings.passwordChanged); refresh() },
  })
  const end = useMutation({ mutationFn: (id: string) => platform.DELETE('/v1/user/sessions/{session_id}', { params: { path: { session_id: id } } }), onSuccess: refresh, onError: failed })
  const others = useMutation({ mutationFn: () => platform.DELETE('/v1/user/sessions', { params: { query: { others: true } } }), onSuccess: () => { toast(t.settings.othersEnded); refresh() }, onError: failed })
  const answer = useMutation({
    mutationFn: (a: { id: string; yes: boolean }) => {
      const path = { params: { path: { invited_team_id: a.id } } }
      return a.yes ? body(platform.POST('/v1/user/invitations/{invited_team_id}', path)) : body(platform.DELETE('/v1/user/invitations/{invited_team_id}', path))
    },
    onSuccess: refresh, onError: failed,
  })
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      {(invitations.data?.data.length ?? 0) > 0 && (
        <Card title={t.settings.invitations} flush>
          <ul className="divide-y divide-line">
            {invitations.data!.data.map((i) => (
              <li key={i.team_id} className="flex flex-wrap items-center gap-2 px-3 py-2 text-sm"><span className="flex-1"><Shown text={i.team_name} max={100} className="font-medium" /> · {t.roles[i.role] ?? i.role} · <Time at={i.invited_at} /></span>
                <Button onClick={() => answer.mutate({ id: i.team_id, yes: false })}>{t.settings.decline}</Button><Button kind="primary" onClick={() => answer.mutate({ id: i.team_id, yes: true })}>{t.settings.accept}</Button></li>
            ))}
          </ul>
        </Card>
      )}
      <Card title={t.settings.password}>
        <form className="max-w-sm" onSubmit={(e) => { e.preventDefault(); change.mutate() }}>
          <Field label={t.settings.passwordNow}>{(p) => <input {...p} className="field" type="password" autoComplete="current-password" required value={now} onChange={(e) => setNow(e.target.value)} />}</Field>
          <Field label={t.settings.passwordNext} hint={t.settings.passwordHint}>{(p) => <input {...p} className="field" type="password" autoComplete="new-password" minLength={10} required value={next} onChange={(e) => setNext(e.target.value)} />}</Field>
          {change.error && <Problem error={change.error} />}
          <Button type="submit" disabled={change.isPending}>{t.settings.passwordChange}</Button>
        </form>
      </Card>
      <SecondFactor />
      <Card title={t.settings.sessions} flush actions={<Button onClick={() => others.mutate()}>{t.settings.endOthers}</Button>}>
        {sessions.error ? <Problem error={sessions.error} /> : !sessions.data ? <Loading what={t.settings.sessions} /> : (
          <Table label={t.settings.sessions} head={[t.settings.client, t.settings.address, t.settings.lastUsed, t.settings.ends, '']}>
            {sessions.data.data.map((s) => (
              <tr key={s.id}><td className="min-w-48"><Shown text={s.user_agent} max={100} /> {s.current && <Chip tone="good">{t.settings.this}</Chip>}</td><td><Shown text={s.address} max={60} /></td><td><Time at={s.last_used_at} /></td><td className="whitespace-nowrap">{date(s.expires_at)}</td>
                <td className="text-right">{!s.current && <Button onClick={() => end.mutate(s.id)}>{t.settings.end}</Button>}</td></tr>
            ))}
          </Table>
        )}
      </Card>
    </div>
  )
}
