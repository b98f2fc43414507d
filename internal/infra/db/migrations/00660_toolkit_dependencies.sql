-- +goose Up
-- Packages of toolkits: what is installed for them, and when their status was last set.
ALTER TABLE toolkit ADD COLUMN dependencies $JSON NOT NULL DEFAULT '{}';
ALTER TABLE toolkit ADD COLUMN status_at BIGINT;

-- +goose Down
ALTER TABLE toolkit DROP COLUMN status_at;
ALTER TABLE toolkit DROP COLUMN dependencies;
