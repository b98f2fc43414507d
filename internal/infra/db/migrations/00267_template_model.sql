-- +goose Up
-- The model that wrote a team's template; empty: a person did.
ALTER TABLE template ADD COLUMN model TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE template DROP COLUMN model;
