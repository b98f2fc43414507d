-- +goose Up
-- What an authorization server gave for an MCP server: in plain, what may be shown; sealed, the tokens and the client; sealed, an
-- authorization that a person has begun.
ALTER TABLE mcp_server ADD COLUMN oauth $JSON NOT NULL DEFAULT '{}';
ALTER TABLE mcp_server ADD COLUMN oauth_grant $BYTES;
ALTER TABLE mcp_server ADD COLUMN oauth_attempt $BYTES;

-- +goose Down
ALTER TABLE mcp_server DROP COLUMN oauth_attempt;
ALTER TABLE mcp_server DROP COLUMN oauth_grant;
ALTER TABLE mcp_server DROP COLUMN oauth;
