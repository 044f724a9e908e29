#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds YAML against a JSON Schema, as an editor does.

validate.py SCHEMA FILE...: prints `FILE: valid` or `FILE: wrong at PATH` for each document, the
scalars once as the numbers and booleans of YAML 1.2, and once as the texts that they are.
"""
import json
import sys

import jsonschema
import yaml


class TypedLoader(yaml.SafeLoader):
    """Booleans are true and false alone, as in YAML 1.2: `on` can be a key."""


TypedLoader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:bool" or first in "tTfF"]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class TextLoader(yaml.SafeLoader):
    """Scalars as they are written, but for null, and merge keys."""


PLAIN = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")


TextLoader.yaml_implicit_resolvers = {
    first: [rule for rule in rules if rule[0] in PLAIN]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def verdict(validator, document):
    """The path of the error that counts; None for a document that is valid."""
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    if error is None:
        return None
    return "/".join(str(step) for step in error.absolute_path) or "top"


def main():
    """See above; ends with 1 when a file was not valid, or the schema is none."""
    with open(sys.argv[1], encoding="utf-8") as source:
        schema = json.load(source)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    bad = 0
    for name in sys.argv[2:]:
        for loader in (TypedLoader, TextLoader):
            with open(name, encoding="utf-8") as source:
                documents = [d for d in yaml.load_all(source, loader) if d is not None]
            for document in documents or [{}]:
                where = verdict(validator, document)
                bad |= where is not None
                print(f"{name}: {'valid' if where is None else 'wrong at ' + where}")
    return bad


sys.exit(main())
