import type { Agent } from '../../lib/api'
import { date } from '../../lib/format'
import { Raw, Shown } from '../../lib/show'
import { Chip, Dialog, Facts } from '../../ui/kit'
import { t } from '../../texts'

const o = t.custom
const p = t.programs
type Doc = Agent['AgentDoc']
type Text = Agent['AgentVersionDoc'] | Doc

export const installTone: Record<string, string> = { installed: 'good', failed: 'bad', installing: 'busy', not_started: 'calm' }

const some = (list: string[] | undefined) => list && list.length > 0 && <Shown text={list.join(', ')} max={1000} />
const runs = (x: Text) => x.custom_tools.length + x.install_commands.length + x.verify_commands.length + x.prereq_packages.length + x.require_env_vars.length > 0

/** What an agent is told, and what is run of it. */
export function AgentText({ of: x }: { of: Text }) {
  return (
    <div className="grid gap-2 text-sm *:min-w-0">
      {x.system_context && <details><summary className="text-accent">{o.field.system_context}</summary><Raw label={o.field.system_context!} text={x.system_context} /></details>}
      {runs(x) && (
        <details>
          <summary className="text-accent">{p.title}</summary>
          <div className="mt-1 grid gap-2 *:min-w-0">
            <Facts of={[[o.field.prereq_packages!, some(x.prereq_packages)], [o.field.require_env_vars!, some(x.require_env_vars)]]} />
            {x.install_commands.length > 0 && <div><p className="mb-1 text-xs text-muted">{p.install}</p><Raw label={p.install} text={x.install_commands.join('\n')} /></div>}
            {x.verify_commands.length > 0 && <div><p className="mb-1 text-xs text-muted">{p.verify}</p><Raw label={p.verify} text={x.verify_commands.join('\n')} /></div>}
            {x.custom_tools.map((c) => (
              <div key={c.id}>
                <p className="mb-1"><code className="font-medium"><Shown text={c.id} max={80} /></code> <span className="text-muted"><Shown text={c.description} max={500} /></span></p>
                <Raw label={c.id} text={[c.commandTemplate, c.scriptContent].filter(Boolean).join('\n\n')} />
              </div>
            ))}
          </div>
        </details>
      )}
    </div>
  )
}

/** One agent, to read; with what became of its installation. */
export function ReadAgent({ of: x, onClose }: { of: Doc; onClose: () => void }) {
  return (
    <Dialog title={o.readTitle(x.name)} onClose={onClose} wide>
      <div className="grid gap-3 text-sm *:min-w-0">
        <Facts of={[
          [o.field.description!, x.description && <Shown key="d" text={x.description} max={1000} />], [o.when, x.when_to_use && <Shown key="w" text={x.when_to_use} max={1000} />],
          [o.field.native_tools!, some(x.native_tools)], [o.field.skills!, some(x.skills)], [o.field.tags!, some(x.tags)],
          [p.installation, x.installation_status !== 'none' && <span key="i"><Chip tone={installTone[x.installation_status]}>{p.states[x.installation_status]}</Chip> {x.installation_at && <span className="text-muted">{date(x.installation_at)}</span>}</span>],
          [p.why, x.installation_error && <Shown key="e" text={x.installation_error} max={2000} className="text-high" />],
        ]} />
        {x.installation_output && <div><p className="mb-1 text-xs text-muted">{p.output}</p><Raw label={p.output} text={x.installation_output} /></div>}
        <AgentText of={x} />
      </div>
    </Dialog>
  )
}
