-- +goose Up
-- Why a status was decided, and until when it holds: the end of an accepted risk.
ALTER TABLE finding_decision ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE finding_decision ADD COLUMN until BIGINT;
CREATE INDEX finding_decision_until ON finding_decision (until) WHERE until IS NOT NULL;
ALTER TABLE finding_change ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE finding_change ADD COLUMN until BIGINT;
ALTER TABLE finding_change ADD COLUMN undone BOOLEAN NOT NULL DEFAULT FALSE; -- another entry has taken it back

-- +goose Down
ALTER TABLE finding_change DROP COLUMN undone;
ALTER TABLE finding_change DROP COLUMN until;
ALTER TABLE finding_change DROP COLUMN reason;
DROP INDEX finding_decision_until;
ALTER TABLE finding_decision DROP COLUMN until;
ALTER TABLE finding_decision DROP COLUMN reason;
