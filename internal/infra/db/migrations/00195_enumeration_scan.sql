-- +goose Up
-- The automatic scan of a run's new assets.
ALTER TABLE enumeration_run ADD COLUMN scan_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE enumeration_run DROP COLUMN scan_id;
