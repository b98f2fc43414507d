import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { agent, body } from '../../lib/api'
import { useAct } from '../../lib/act'
import { date } from '../../lib/format'
import { Shown } from '../../lib/show'
import { askKey, hasKeys, makeKey } from '../../lib/webauthn'
import { Button, Card, Chip, Copy, Dialog, Field, Loading, Problem, Table, Time } from '../../ui/kit'
import { toast } from '../../ui/toast'
import { t } from '../../texts'
import { Once } from './once'

const f = t.factor

/** What somebody needs besides the password: codes of an app, security keys and passkeys. */
export function SecondFactor() {
  const [adding, setAdding] = useState<'' | 'app' | 'key'>('')
  const [removing, setRemoving] = useState<{ id: string; name: string }>()
  const [codes, setCodes] = useState<string[]>([])
  const state = useQuery({ queryKey: ['factor'], queryFn: () => body(agent.GET('/api/v1/user/second-factor')) })
  const keys = useQuery({ queryKey: ['factor', 'keys'], queryFn: () => body(agent.GET('/api/v1/user/second-factor/keys')) })
  const s = state.data
  return (
    <Card title={f.title} flush actions={s && <>{!s.app && <Button onClick={() => setAdding('app')}>{f.addApp}</Button>}{hasKeys() && <Button onClick={() => setAdding('key')}>{f.addKey}</Button>}</>}>
      {state.error ? <Problem error={state.error} /> : !s ? <Loading what={f.title} /> : (
        <>
          <p className="flex flex-wrap items-center gap-2 px-3 py-2.5 text-sm">{s.enabled ? <Chip tone="good">{f.on}</Chip> : <Chip tone="wait">{f.off}</Chip>}<span className="text-muted">{s.enabled ? f.codesLeft(s.recovery_codes) : f.offText}</span></p>
          {(s.app || (keys.data?.data.length ?? 0) > 0) && (
            <Table label={f.title} head={[t.settings.keyName, f.added, t.settings.lastUsed, '']}>
              {s.app && <tr><td className="font-medium">{f.app}</td><td>–</td><td>–</td><td className="text-right"><Button onClick={() => setRemoving({ id: '', name: f.app })}>{t.settings.remove}</Button></td></tr>}
              {(keys.data?.data ?? []).map((k) => (
                <tr key={k.id}><td><Shown text={k.name} max={80} className="font-medium" /> {k.synced && <Chip>{f.synced}</Chip>} {k.suspect_at && <Chip tone="bad">{f.suspect}</Chip>}</td><td className="text-muted">{date(k.created_at)}</td><td className="text-muted"><Time at={k.last_used_at} /></td>
                  <td className="text-right"><Button onClick={() => setRemoving({ id: k.id, name: k.name })}>{t.settings.remove}</Button></td></tr>
              ))}
            </Table>
          )}
        </>
      )}
      {adding === 'app' && <AddApp onClose={() => setAdding('')} onCodes={setCodes} />}
      {adding === 'key' && <AddKey onClose={() => setAdding('')} onCodes={setCodes} />}
      {removing && s && <Remove of={removing} keys={s.security_keys > 0} onClose={() => setRemoving(undefined)} />}
      {codes.length > 0 && <Once title={f.codes} text={f.codesText} value={codes.join('\n')} onClose={() => setCodes([])} />}
    </Card>
  )
}

type Adding = { onClose: () => void; onCodes: (codes: string[]) => void }

function AddApp({ onClose, onCodes }: Adding) {
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [secret, setSecret] = useState<{ secret: string; uri: string }>()
  const begin = useAct(() => body(agent.POST('/api/v1/user/second-factor', { body: { current_password: password || undefined } })), [], setSecret, { shown: true })
  const confirm = useAct(() => body(agent.POST('/api/v1/user/second-factor/confirm', { body: { code: code.trim() } })), ['factor', 'sessions'], (a) => { onClose(); toast(f.appAdded); onCodes(a.recovery_codes ?? []) }, { shown: true })
  return (
    <Dialog title={f.addApp} onClose={onClose}>
      {!secret ? (
        <form onSubmit={(e) => { e.preventDefault(); begin.mutate() }}>
          <Field label={t.settings.passwordNow} hint={f.passwordHint}>{(p) => <input {...p} autoFocus className="field" type="password" autoComplete="current-password" value={password} onChange={(e) => setPassword(e.target.value)} />}</Field>
          {begin.error && <Problem error={begin.error} />}
          <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={begin.isPending}>{f.next}</Button></div>
        </form>
      ) : (
        <form onSubmit={(e) => { e.preventDefault(); confirm.mutate() }}>
          <p className="mb-2 text-sm">{f.secretText}</p>
          <p className="rounded-sm border border-line bg-panel p-3"><code className="break-all select-all">{secret.secret}</code> <Copy text={secret.secret} /></p>
          <p className="mt-2 mb-4 text-sm"><a className="link" href={secret.uri}>{f.open}</a></p>
          <Field label={f.code} hint={f.codeHint}>{(p) => <input {...p} autoFocus className="field" inputMode="numeric" autoComplete="one-time-code" required maxLength={10} value={code} onChange={(e) => setCode(e.target.value)} />}</Field>
          {confirm.error && <Problem error={confirm.error} />}
          <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={confirm.isPending}>{f.turnOn}</Button></div>
        </form>
      )}
    </Dialog>
  )
}

function AddKey({ onClose, onCodes }: Adding) {
  const [password, setPassword] = useState('')
  const [name, setName] = useState('')
  const add = useAct(async () => {
    const options = await body(agent.POST('/api/v1/user/second-factor/keys', { body: { current_password: password || undefined } }))
    const credential = await makeKey(options.publicKey)
    return body(agent.POST('/api/v1/user/second-factor/keys/finish', { body: { name, credential } }))
  }, ['factor', 'sessions'], (a) => { onClose(); toast(f.keyAdded(name)); onCodes(a.recovery_codes ?? []) }, { shown: true })
  return (
    <Dialog title={f.addKey} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); add.mutate() }}>
        <p className="mb-3 text-sm text-muted">{f.keyText}</p>
        <Field label={t.settings.keyName} hint={f.nameHint}>{(p) => <input {...p} autoFocus className="field" required maxLength={64} value={name} onChange={(e) => setName(e.target.value)} />}</Field>
        <Field label={t.settings.passwordNow} hint={f.passwordHint}>{(p) => <input {...p} className="field" type="password" autoComplete="current-password" value={password} onChange={(e) => setPassword(e.target.value)} />}</Field>
        {add.error && <Problem error={add.error} />}
        <div className="flex justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button><Button kind="primary" type="submit" disabled={add.isPending}>{add.isPending ? f.touch : f.addKey}</Button></div>
      </form>
    </Dialog>
  )
}

/** Removing a factor takes a proof of any. */
function Remove({ of, keys, onClose }: { of: { id: string; name: string }; keys: boolean; onClose: () => void }) {
  const [code, setCode] = useState('')
  const remove = useAct(async (withKey: boolean) => {
    const proof = withKey ? { credential: await askKey((await body(agent.POST('/api/v1/user/second-factor/challenge'))).publicKey) } : { code: code.trim() }
    return of.id ? agent.DELETE('/api/v1/user/second-factor/keys/{security_key_id}', { params: { path: { security_key_id: of.id } }, body: proof }) : agent.DELETE('/api/v1/user/second-factor', { body: proof })
  }, ['factor'], () => { onClose(); toast(f.removed(of.name)) }, { shown: true })
  return (
    <Dialog title={f.removeTitle(of.name)} onClose={onClose}>
      <form onSubmit={(e) => { e.preventDefault(); remove.mutate(false) }}>
        <p className="mb-3 text-sm">{f.removeText}</p>
        <Field label={t.login.code} hint={t.login.codeHint}>{(p) => <input {...p} autoFocus className="field" autoComplete="one-time-code" required maxLength={40} value={code} onChange={(e) => setCode(e.target.value)} />}</Field>
        {remove.error && <Problem error={remove.error} />}
        <div className="flex flex-wrap justify-end gap-2"><Button onClick={onClose}>{t.cancel}</Button>{keys && hasKeys() && <Button disabled={remove.isPending} onClick={() => remove.mutate(true)}>{t.login.withKey}</Button>}<Button kind="danger" type="submit" disabled={remove.isPending}>{t.settings.remove}</Button></div>
      </form>
    </Dialog>
  )
}
