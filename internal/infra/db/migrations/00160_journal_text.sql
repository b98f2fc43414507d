-- +goose Up
-- The journal must be read back byte for byte, so that a repeated model call equals the first one. A
-- JSON column may change order and spaces.
ALTER TABLE task_entry ADD COLUMN told TEXT NOT NULL DEFAULT 'null';
UPDATE task_entry SET told = CAST(body AS TEXT);
ALTER TABLE task_entry DROP COLUMN body;
ALTER TABLE task_entry RENAME COLUMN told TO body;

-- +goose Down
ALTER TABLE task_entry ADD COLUMN told $JSON;
UPDATE task_entry SET told = CAST(body AS $JSON);
ALTER TABLE task_entry DROP COLUMN body;
ALTER TABLE task_entry RENAME COLUMN told TO body;
