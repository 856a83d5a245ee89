"""Help → Documentation: the pages of ``docs/`` in a window of their own, without a network."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QKeySequence,
    QShortcut,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QTextBrowser,
    QVBoxLayout,
    QWidget,
)

from warpline import resources
from warpline.i18n import english, language, tr, translated
from warpline.model.errors import WarplineError
from warpline_app.look.appearance import appearance
from warpline_app.look.files_there import is_file
from warpline_app.look.plain import PlainLabel
from warpline_app.look.widgets import search_field

FIRST = {
    "slow-training": english("My training is slow"),
    "lock": english("Who holds the lock"),
    "foreign-trace": english("Read a trace somebody sent me"),
}
ORDER = {
    "recording": english("Recording programs"),
    "live": english("Watch a recording while it runs"),
    "findings": english("Findings"),
    "summaries": english("Summaries"),
    "comparing": english("Comparing captures"),
    "jobs": english("Jobs of many ranks"),
    "notes": english("Notes"),
    "export": english("Exporting"),
    "import": english("Opening traces of other profilers"),
    "import-nsys": english("Importing Nsight Systems"),
    "query": english("Questions in SQL"),
    "keys": english("Keys, gestures and commands"),
    "python": english("From Python"),
    "installing": english("Installing"),
    "performance": english("Performance"),
    "reliability": english("Reliability"),
    "security": english("Security"),
    "agent": english("The agent inside the recorded program"),
    "format": english("The capture file"),
    "spool": english("Spool files"),
    "development": english("Development"),
}
"""Pages in reading order with their headings, which the list shows translated; others follow."""
_SIZE = (1080, 760)
_PICTURE = re.compile(r"<picture>.*?<img alt=\"([^\"]*)\".*?</picture>", re.DOTALL)
_CODE = QTextFormat.Property.BlockCodeFence
_ABOVE_HEADING_PX = 8
_PAGE = Qt.ItemDataRole.UserRole


def pages(folder: Path) -> list[Path]:
    """The pages in reading order: tutorials, guides, reference."""
    chinese = language().startswith("zh")
    tutorials = []
    for name in FIRST:
        translation = folder / "tutorials" / f"{name}.zh-CN.md"
        tutorials.append(
            translation if chinese and is_file(translation) else folder / "tutorials" / f"{name}.md"
        )
    guides = [folder / f"{name}.md" for name in ORDER]
    others = sorted(page for page in folder.glob("*.md") if page not in guides)
    return [page for page in (*tutorials, *guides, *others) if is_file(page)]


def title_of(text: str, page: Path) -> str:
    """The first heading of a page, else its name."""
    match = re.search(r"^# (.+)$", text, re.MULTILINE)
    return match[1].replace("`", "").strip() if match else page.stem


def _shown_title(text: str, page: Path) -> str:
    """The heading in the window's language, also of a page that is not translated."""
    heading = title_of(text, page)
    return translated(heading) if heading in {**FIRST, **ORDER}.values() else heading


def anchor_of(heading: str) -> str:
    """The anchor that Markdown viewers give a heading: ``#add-a-source``."""
    return re.sub(r"[^\w\- ]", "", heading.casefold()).strip().replace(" ", "-")


class DocumentationWindow(QDialog):
    """A list of pages, and the page that is read. Links between pages work; links elsewhere open in the browser."""

    def __init__(self, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Documentation"))
        self._folder = folder
        self._texts = {page: page.read_text(encoding="utf-8") for page in pages(folder)}
        self._past: list[tuple[Path, int]] = []
        self.page: Path | None = None
        """The page that is read."""
        self.search = search_field(tr("Search the documentation"))
        self.search.textChanged.connect(self._narrow)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Pages"))
        self.list.setFixedWidth(250)
        self.list.setSpacing(2)
        for page, text in self._texts.items():
            item = QListWidgetItem(_shown_title(text, page))
            item.setData(_PAGE, page)
            self.list.addItem(item)
        self.list.currentItemChanged.connect(self._chosen)
        self.text = QTextBrowser()
        self.text.setOpenLinks(False)
        self.text.setAccessibleName(tr("Page"))
        self.text.document().setDocumentMargin(22)
        self.text.anchorClicked.connect(self._follow)
        self.back = QPushButton(tr("Back"))
        self.back.setAutoDefault(False)
        self.back.setEnabled(False)
        self.back.clicked.connect(self.go_back)
        QShortcut(QKeySequence.StandardKey.Back, self, self.go_back)
        self.note = PlainLabel()
        self.note.setObjectName("muted")
        left = QVBoxLayout()
        left.addWidget(self.search)
        left.addWidget(self.list, 1)
        top = QHBoxLayout()
        top.addWidget(self.back)
        top.addWidget(self.note, 1)
        right = QVBoxLayout()
        right.addLayout(top)
        right.addWidget(self.text, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(14, 12, 14, 12)
        layout.setSpacing(12)
        layout.addLayout(left)
        layout.addLayout(right, 1)
        self.resize(*_SIZE)
        self.list.setCurrentRow(0)

    def show_page(self, page: Path, anchor: str = "") -> None:
        """Show a page from its beginning, or from the heading with an anchor."""
        if page != self.page:
            text = self._texts.get(page)
            shown = (
                text
                if text is not None
                else f"```\n{page.read_text(encoding='utf-8', errors='replace')}\n```"
            )
            self.text.document().setMarkdown(_PICTURE.sub(r"*\1*", shown))
            self._set_spacing()
            self.page = page
            for row in range(self.list.count()):
                if self.list.item(row).data(_PAGE) == page:
                    self.list.blockSignals(True)
                    self.list.setCurrentRow(row)
                    self.list.blockSignals(False)
        self.note.clear()
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        if anchor:
            self._scroll_to(anchor)

    def go_back(self) -> None:
        """Return to where the last link was followed."""
        if self._past:
            page, scrolled = self._past.pop()
            self.show_page(page)
            self.text.verticalScrollBar().setValue(scrolled)
            self.back.setEnabled(bool(self._past))

    def _set_spacing(self) -> None:
        """Room around headings, code and tables: Qt's Markdown sets them close together."""
        theme = appearance().theme
        shade, line = QColor(theme.group), QColor(theme.hairline)
        cursor = QTextCursor(self.text.document())
        cursor.beginEditBlock()
        block, was_code = self.text.document().begin(), False
        while block.isValid():
            form = block.blockFormat()
            is_code = form.hasProperty(_CODE)
            if is_code:
                form.setBackground(shade)
                form.setLeftMargin(8)
                form.setNonBreakableLines(False)  # a scroll bar below a page is worse than a second line
            elif form.headingLevel():
                form.setTopMargin(22 if form.headingLevel() < 3 else 14)
            if was_code != is_code or not is_code:
                form.setTopMargin(max(form.topMargin(), 8))
            if not is_code:
                form.setBottomMargin(8)
            cursor.setPosition(block.position())
            cursor.setBlockFormat(form)
            was_code, block = is_code, block.next()
        cursor.endEditBlock()
        for frame in self.text.document().rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                table = frame.format().toTableFormat()
                table.setBorderBrush(line)
                table.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                table.setCellPadding(4)
                table.setBottomMargin(12)
                frame.setFormat(table)

    def _scroll_to(self, anchor: str) -> None:
        block = self.text.document().begin()
        while block.isValid():
            if block.blockFormat().headingLevel() and anchor_of(block.text()) == anchor:
                # The end first: what is above is laid out only then.
                self.text.moveCursor(QTextCursor.MoveOperation.End)
                self.text.setTextCursor(QTextCursor(block))
                bar = self.text.verticalScrollBar()
                bar.setValue(bar.value() + self.text.cursorRect().top() - _ABOVE_HEADING_PX)
                return
            block = block.next()

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self._remember()
            self.show_page(item.data(_PAGE))

    def _remember(self) -> None:
        if self.page is not None:
            self._past.append((self.page, self.text.verticalScrollBar().value()))
            self.back.setEnabled(True)

    def _follow(self, url: QUrl) -> None:
        if url.scheme() in {"http", "https"}:
            QDesktopServices.openUrl(url)
            return
        here = self.page if self.page is not None else self._folder
        target = (here.parent / url.path()).resolve() if url.path() else here
        if is_file(target) and target.is_relative_to(self._folder.resolve()):
            self._remember()
            self.show_page(target, url.fragment())
        else:
            self.note.setText(tr("Not part of this documentation: {name}", name=url.path()))

    def _narrow(self, query: str) -> None:
        """List the pages in which every word occurs."""
        words = query.casefold().split()
        for row in range(self.list.count()):
            item = self.list.item(row)
            text = self._texts[item.data(_PAGE)].casefold()
            item.setHidden(not all(word in text for word in words))


def show_documentation(parent: QWidget | None) -> DocumentationWindow:
    """Show the documentation beside a window; it may stay open. Raises WarplineError when it is not installed."""
    try:
        folder = resources.documentation()
    except FileNotFoundError as error:
        raise WarplineError(str(error)) from error
    window = DocumentationWindow(folder.resolve(), parent)
    window.show()
    window.search.setFocus()
    return window
