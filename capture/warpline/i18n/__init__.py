"""Translates texts for people, without Qt."""

from warpline.i18n.languages import install, languages, system_language
from warpline.i18n.message import Message, joined, sentences
from warpline.i18n.texts import english, english_n, forms, language, tr, tr_n, translated, use

__all__ = [
    "Message",
    "english",
    "english_n",
    "forms",
    "install",
    "joined",
    "language",
    "languages",
    "sentences",
    "system_language",
    "tr",
    "tr_n",
    "translated",
    "use",
]
