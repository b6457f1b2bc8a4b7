// oauth.mjs - an MCP server of the official SDK behind oidc-provider.
// SPDX-License-Identifier: MIT
//
// Prints a JSON line with both addresses once it listens. TTL: seconds that an
// access token lives. Lines on standard output say what was asked:
// "token GRANT_TYPE given". A line on standard input makes the server refuse all
// tokens that it has seen. CLIENT: the id of a client that is registered; then
// no other can register. DENY: the user says no.
import { createServer } from 'node:http';
import express from 'express';
import { createLocalJWKSet, jwtVerify } from 'jose';
import Provider from 'oidc-provider';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport }
  from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { requireBearerAuth }
  from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { InvalidTokenError }
  from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { randomUUID } from 'node:crypto';

const listen = (server) => new Promise((done) => {
  server.listen(0, '127.0.0.1', () => done(server.address().port));
});
const log = (...words) => console.log(words.join(' '));
const seen = new Set();
const revoked = new Set();

const authServer = createServer();
const mcpServer = createServer();
const issuer = `http://127.0.0.1:${await listen(authServer)}`;
const resource = `http://127.0.0.1:${await listen(mcpServer)}/mcp`;
const metadata = new URL('/.well-known/oauth-protected-resource/mcp', resource);

// ---- the authorization server ----

const provider = new Provider(issuer, {
  clients: process.env.CLIENT ? [{
    client_id: process.env.CLIENT, client_secret: 'a secret:with/odd+parts',
    redirect_uris: ['http://127.0.0.1/callback'],
    application_type: 'native', token_endpoint_auth_method:
      'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token'],
  }] : [],
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: !process.env.CLIENT },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (ctx, indicator) => {
        if (indicator !== resource)
          throw new Error('another resource');
        return { scope: 'tools', audience: resource,
                 accessTokenFormat: 'jwt',
                 accessTokenTTL: Number(process.env.TTL || 3600) };
      },
    },
  },
  scopes: ['openid', 'offline_access', 'tools'],
  rotateRefreshToken: true,
  pkce: { required: () => true },
  interactions: { url: (ctx, i) => `/interaction/${i.uid}` },
  findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  cookies: { keys: ['k'] },
});
for (const event of ['grant.success', 'grant.error'])
  provider.on(event, (ctx, error) => log('token', ctx.oidc.params.grant_type,
    error ? `${error.error}: ${error.error_description}` : 'given'));
provider.on('grant.revoked', () => log('taken back'));
provider.on('registration_create.error', (ctx, e) => log('refused',
  e.error_description));
provider.on('authorization.error', (ctx, e) => log('refused', e.error,
  e.error_description));

// Whoever comes is logged in, and agrees.
const users = express();
users.get('/interaction/:uid', async (req, res) => {
  const { prompt, params, session, grantId } =
    await provider.interactionDetails(req, res);
  if (process.env.DENY)
    return provider.interactionFinished(req, res, {
      error: 'access_denied', error_description: 'the user said no' });
  if (prompt.name === 'login')
    return provider.interactionFinished(req, res,
      { login: { accountId: 'user' } });
  const grant = grantId ? await provider.Grant.find(grantId)
    : new provider.Grant({ accountId: session.accountId,
                           clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  grant.addResourceScope(resource, 'tools');
  return provider.interactionFinished(req, res,
    { consent: { grantId: await grant.save() } });
});
users.use(provider.callback());
authServer.on('request', users);

// ---- the MCP server ----

const keys = async () => (await fetch(`${issuer}/jwks`)).json();
const verifier = {
  verifyAccessToken: async (token) => {
    try {
      const { payload } = await jwtVerify(token,
        createLocalJWKSet(await keys()), { issuer, audience: resource });
      if (revoked.has(token))
        throw new Error('revoked');
      seen.add(token);
      return { token, clientId: payload.client_id, scopes: ['tools'],
               expiresAt: payload.exp, resource: new URL(payload.aud) };
    } catch (e) {
      throw new InvalidTokenError(e.message);
    }
  },
};

const app = express();
app.use(express.json());
app.get(metadata.pathname, (req, res) => res.json({
  resource, authorization_servers: [issuer],
  scopes_supported: ['tools'] }));
const sessions = new Map();
app.all('/mcp', requireBearerAuth({ verifier,
  resourceMetadataUrl: metadata.href, requiredScopes: ['tools'] }),
  async (req, res) => {
    let transport = sessions.get(req.headers['mcp-session-id']);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport) });
      const server = new McpServer({ name: 'secured', version: '1' });
      server.registerTool('who', { description: 'Who is asking.',
        annotations: { readOnlyHint: true } }, async (extra) => ({
        content: [{ type: 'text', text: `for ${extra.authInfo.resource}` }],
      }));
      await server.connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
  });
mcpServer.on('request', app);

process.stdin.on('data', () => {
  seen.forEach((token) => revoked.add(token));
  log('revoked');
});
log(JSON.stringify({ issuer, resource }));
