import { useMutation, useQueryClient } from '@tanstack/react-query'
import { failed } from '../ui/toast'

/**
 * Something that a person does: it is sent, and what it may have changed is read again. Its failure is told in a message,
 * unless the screen shows it where it was done (shown).
 */
export function useAct<In = void, Out = unknown>(run: (x: In) => Promise<Out>, keys: string[], done?: (out: Out, x: In) => void, how: { shown?: boolean } = {}) {
  const queries = useQueryClient()
  return useMutation<Out, Error, In>({
    mutationFn: run,
    onSuccess: (out, x) => { for (const k of keys) void queries.invalidateQueries({ queryKey: [k] }); done?.(out, x) },
    onError: how.shown ? undefined : failed,
  })
}
