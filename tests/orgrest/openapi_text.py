"""An OpenAPI description for tests; HOST stands for its server."""

API = """\
openapi: 3.0.3
info: {title: Orders, version: "1"}
servers: [{url: "HOST/v1"}]
paths:
  /orders:
    parameters:
      - {name: page, in: query, schema: {type: integer, minimum: 1}}
    get:
      summary: All orders
      parameters:
        - {name: tags, in: query, schema: {type: array, items: {type: string, enum: [a, b]}}}
        - {name: X-Client, in: header, required: true, schema: {type: string, pattern: "^c-"}}
      responses:
        "200":
          description: ok
          headers:
            X-Count: {required: true, schema: {type: integer}}
          content:
            application/json:
              schema: {type: array, items: {$ref: "#/components/schemas/Order"}}
        "4XX": {$ref: "#/components/responses/Problem"}
    post:
      requestBody:
        required: true
        content:
          application/json: {schema: {$ref: "#/components/schemas/Order"}}
      responses:
        "201": {description: made}
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer}}
    get:
      responses:
        "200":
          description: ok
          content: {application/json: {schema: {$ref: "#/components/schemas/Order"}}}
        default: {$ref: "#/components/responses/Problem"}
  /orders/mine:
    get: {responses: {"204": {description: none}}}
components:
  responses:
    Problem:
      description: wrong
      content:
        application/problem+json: {schema: {type: object, required: [title]}}
  schemas:
    Order:
      type: object
      required: [id, state, secret]
      properties:
        id: {type: integer, readOnly: true}
        state: {type: string, enum: [open, done, null], nullable: true}
        secret: {type: string, writeOnly: true}
        price: {type: number, minimum: 0, exclusiveMinimum: true}
        parent: {$ref: "#/components/schemas/Order"}
"""
