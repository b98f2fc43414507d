-- +goose Up
-- The scan of what a run saw first, where the enumeration asks for one.
ALTER TABLE enumeration_run ADD COLUMN scan_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE enumeration_run DROP COLUMN scan_id;
