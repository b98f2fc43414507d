-- +goose Up
-- The log of a team's notifications, newest first.
ALTER TABLE notice ADD COLUMN policy_id TEXT NOT NULL DEFAULT '';          -- of a notice of a policy, whose subject is one event of it
ALTER TABLE notice ADD COLUMN maybe_twice BOOLEAN NOT NULL DEFAULT FALSE;  -- its process died while it was being sent, and it was sent again
UPDATE notice SET policy_id = COALESCE((SELECT e.policy_id FROM asset_policy_event e WHERE e.id = notice.subject_id), '') WHERE kind = 'policy';
CREATE INDEX notice_log ON notice (team_id, created_at, id);

-- +goose Down
DROP INDEX notice_log;
ALTER TABLE notice DROP COLUMN maybe_twice;
ALTER TABLE notice DROP COLUMN policy_id;
