import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body, type Agent } from '../../lib/api'
import { useAct } from '../../lib/act'
import { date } from '../../lib/format'
import { Shown } from '../../lib/show'
import { Button, Card, Confirm, Empty, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { t } from '../../texts'
import { Once } from './once'

type Key = Agent['APIKeyList']['data'][number]

/** The keys with which a person's programs call the APIs. */
export function Keys() {
  const [name, setName] = useState('')
  const [scope, setScope] = useState<'read' | 'full'>('read')
  const [days, setDays] = useState('90')
  const [made, setMade] = useState('')
  const [gone, setGone] = useState<Key>()
  const [turning, setTurning] = useState(false)
  const found = useQuery({ queryKey: ['api-keys'], queryFn: () => body(agent.GET('/api/v1/user/apikeys')) })
  const create = useAct(() => body(agent.POST('/api/v1/user/apikeys', { body: { name, scope, expires_at: days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : undefined } })), ['api-keys'], (k) => { setName(''); setMade(k.key) }, { shown: true })
  const rotate = useAct(() => body(agent.POST('/api/v1/user/apikey/rotate')), ['api-keys'], (k) => { setTurning(false); setMade(k.key) }, { shown: true })
  const remove = useAct(() => agent.DELETE('/api/v1/user/apikeys/{key_id}', { params: { path: { key_id: gone!.id } } }), ['api-keys'], () => setGone(undefined), { shown: true })
  return (
    <div className="grid max-w-4xl gap-4 *:min-w-0">
      <Card title={t.settings.newKey}>
        <form className="flex flex-wrap items-end gap-3 [&_div]:mb-0" onSubmit={(e) => { e.preventDefault(); create.mutate() }}>
          <div className="min-w-48 flex-1"><Field label={t.settings.keyName}>{(p) => <input {...p} className="field" required maxLength={64} value={name} onChange={(e) => setName(e.target.value)} />}</Field></div>
          <div className="w-44"><Field label={t.settings.keyScope}>{(p) => <select {...p} className="field" value={scope} onChange={(e) => setScope(e.target.value as typeof scope)}><option value="read">{t.settings.scopes.read}</option><option value="full">{t.settings.scopes.full}</option></select>}</Field></div>
          <div className="w-36"><Field label={t.settings.keyEnds}>{(p) => <select {...p} className="field" value={days} onChange={(e) => setDays(e.target.value)}>{['30', '90', '365', ''].map((d) => <option key={d} value={d}>{d ? t.settings.inDays(d) : t.settings.never}</option>)}</select>}</Field></div>
          <Button type="submit" kind="primary" disabled={create.isPending}>{t.settings.create}</Button>
        </form>
        {create.error && <Problem error={create.error} />}
      </Card>
      <Card flush>
        {found.error ? <Problem error={found.error} /> : !found.data ? <Loading what={t.settings.page.keys!} /> : found.data.data.length === 0 ? <Empty title={t.settings.noKeys}>{t.settings.noKeysText}</Empty> : (
          <Table label={t.settings.page.keys!} head={[t.settings.keyName, t.settings.keyBegins, t.settings.keyScope, t.settings.lastUsed, t.settings.ends, '']}>
            {found.data.data.map((k) => (
              <tr key={k.id}><td><Shown text={k.name || t.settings.main} max={80} className="font-medium" /></td><td><code>{k.prefix}…</code></td><td>{t.settings.scopes[k.scope]}</td><td><Time at={k.last_used_at} /></td><td className="whitespace-nowrap">{k.expires_at ? date(k.expires_at) : t.settings.never}</td>
                <td><span className="flex justify-end gap-2">{!k.name && <Button onClick={() => setTurning(true)}>{t.settings.rotate}</Button>}<Button onClick={() => setGone(k)}>{t.delete}</Button></span></td></tr>
            ))}
          </Table>
        )}
      </Card>
      {made && <Once title={t.settings.keyMade} text={t.settings.keyOnce} value={made} onClose={() => setMade('')} />}
      {turning && <Confirm title={t.settings.rotateTitle} action={t.settings.rotate} busy={rotate.isPending} error={rotate.error} onClose={() => setTurning(false)} onYes={() => rotate.mutate()}>{t.settings.rotateText}</Confirm>}
      {gone && <Confirm title={t.settings.keyDelete} action={t.delete} busy={remove.isPending} error={remove.error} onClose={() => setGone(undefined)} onYes={() => remove.mutate()}>{t.settings.keyDeleteText(gone.name || t.settings.main)}</Confirm>}
    </div>
  )
}
