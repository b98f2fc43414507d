-- +goose Up
-- The journal is read back letter by letter: what a model was told is told again after a
-- crash, so that a provider knows the call. A JSON column may order and space anew.
ALTER TABLE task_entry ADD COLUMN told TEXT NOT NULL DEFAULT 'null';
UPDATE task_entry SET told = CAST(body AS TEXT);
ALTER TABLE task_entry DROP COLUMN body;
ALTER TABLE task_entry RENAME COLUMN told TO body;

-- +goose Down
ALTER TABLE task_entry ADD COLUMN told $JSON;
UPDATE task_entry SET told = CAST(body AS $JSON);
ALTER TABLE task_entry DROP COLUMN body;
ALTER TABLE task_entry RENAME COLUMN told TO body;
