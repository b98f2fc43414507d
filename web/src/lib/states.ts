// How urgent the states of work are.
export const scanTone: Record<string, string> = { running: 'busy', starting: 'busy', queued: 'calm', failed: 'bad', finished: 'good', stopped: 'wait', scheduled: 'calm', uploaded: 'calm' }
export const taskTone: Record<string, string> = { running: 'busy', resuming: 'busy', queued: 'calm', suspended: 'wait', completed: 'good', failed: 'bad', aborted: 'wait' }
export const scanLive = (s: string) => s === 'running' || s === 'starting' || s === 'queued'
export const taskLive = (s: string) => s === 'running' || s === 'queued' || s === 'resuming' || s === 'suspended'
