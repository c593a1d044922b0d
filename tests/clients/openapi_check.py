"""Checks the OpenAPI document with the published validator (PyPI `openapi-spec-validator`), and its examples of
requests against its own schemas.

    python3 -m venv /tmp/openapi && /tmp/openapi/bin/pip install openapi-spec-validator
    /tmp/openapi/bin/python tests/clients/openapi_check.py [openapi/openapi.json]

Ends with 0 and a line of figures, or with every fault that was found.
"""

import json
import sys

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

document = json.load(open(sys.argv[1] if len(sys.argv) > 1 else "openapi/openapi.json"))
faults = [f"{'/'.join(map(str, error.path))}: {error.message:.200}" for error in OpenAPIV31SpecValidator(document).iter_errors()]

examples = 0
for path, item in document["paths"].items():
    for method, operation in item.items():
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for name, example in content.get("examples", {}).items():
            schema = {**content["schema"], "components": document["components"]}
            examples += 1
            for error in Draft202012Validator(schema).iter_errors(example["value"]):
                faults.append(f"{method} {path}, example {name}: {error.message:.200}")

print("\n".join(faults))
if faults:
    sys.exit(f"{len(faults)} faults")
schemas = len(document["components"]["schemas"])
print(f"valid OpenAPI {document['openapi']}: {len(document['paths'])} paths, {schemas} schemas, {examples} examples")
